//! A scene becomes frames on a GPU or a software Vulkan driver.
