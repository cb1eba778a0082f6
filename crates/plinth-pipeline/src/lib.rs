//! One job: a model, settings and assets in, a folder of outputs and a manifest out.
