"""Mesa's software Vulkan driver and the Vulkan loader, in `lib/`."""
