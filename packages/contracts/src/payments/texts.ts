/** The texts of a transaction in the side table, which no fact contains. The record of an erased transaction is missing. */
export type TransactionTexts = {
  readonly description: string | null
  /** The text of a JSON object. */
  readonly metadata: string | null
  readonly idempotencyKey: string
  readonly invoice: string
}

/** The URL of a webhook endpoint in the side table. */
export type EndpointUrl = { readonly url: string }
