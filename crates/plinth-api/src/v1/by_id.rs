//! Declares the endpoints whose requests contain nothing but an identifier, and perhaps a JSON body.

/// Declares endpoints that pass the caller, the identifier in the path and the body to a use case, and return its result.
/// Each is written as
/// `/// Summary` `METHOD PATH HANDLER(NAME: BODY) = ACCESS.USE_CASE -> RESULT, "Description of the response.";`
/// An endpoint without a body has no parentheses.
macro_rules! by_id {
    (tag $tag:tt, parameter $parameter:tt; $(
        $(#[$summary:meta])*
        $method:ident $path:tt $handler:ident $(($body:ident: $sent:ident))? = $access:ident.$use_case:ident -> $result:ident, $description:tt;
    )*) => {$(
        $(#[$summary])*
        #[utoipa::path($method, path = $path, tag = $tag, params(($parameter = String, Path)), $(request_body = $sent,)?
            responses((status = 200, description = $description, body = Data<$result>)))]
        pub(crate) async fn $handler(
            State(api): State<Api>,
            $access(caller): $access,
            Path(id): Path<String>,
            $(JsonBody($body, _memory): JsonBody<$sent>,)?
        ) -> Result<Response> {
            Ok(ok(api.service.$use_case(&caller, &id $(, $body)?).await?))
        }
    )*};
}
pub(super) use by_id;
