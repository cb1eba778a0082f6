//! Declares the endpoints whose requests contain nothing but an identifier.

/// Declares endpoints that pass the caller and the identifier in the path to a use case, and return its result. Each is
/// written as
/// `/// Summary` `METHOD PATH HANDLER = ACCESS.USE_CASE -> BODY, "Description of the response.";`
macro_rules! by_id {
    (tag $tag:tt, parameter $parameter:tt; $(
        $(#[$summary:meta])*
        $method:ident $path:tt $handler:ident = $access:ident.$use_case:ident -> $body:ident, $description:tt;
    )*) => {$(
        $(#[$summary])*
        #[utoipa::path($method, path = $path, tag = $tag, params(($parameter = String, Path)), responses(
            (status = 200, description = $description, body = Data<$body>),
        ))]
        pub(crate) async fn $handler(
            State(api): State<Api>,
            $access(caller): $access,
            Path(id): Path<String>,
        ) -> Result<Response> {
            Ok(ok(api.service.$use_case(&caller, &id).await?))
        }
    )*};
}
pub(super) use by_id;
