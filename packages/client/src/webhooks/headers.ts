/** The headers of a request: of `Headers`, of Node's `IncomingMessage`, or of an object with names in any case. */
export type WebhookHeaders =
  | { get(name: string): string | null | undefined }
  | { readonly [name: string]: string | readonly string[] | undefined }

/** @param name in lower case @returns the value; several values are joined by a space */
export function readHeader(headers: WebhookHeaders, name: string): string | undefined {
  if (hasGetter(headers)) return headers.get(name) ?? undefined
  const values = Object.entries(headers).flatMap(([key, value]) => (key.toLowerCase() === name ? (value ?? []) : []))
  return values.length === 0 ? undefined : values.join(' ')
}

const hasGetter = (headers: WebhookHeaders): headers is { get(name: string): string | null | undefined } =>
  typeof headers['get'] === 'function'
