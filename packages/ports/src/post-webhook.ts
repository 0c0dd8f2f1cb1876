export type WebhookRequest = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export type WebhookAnswer =
  /** `retryAfterSeconds`: null if the answer has no valid Retry-After. */
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfterSeconds: number | null }
  /** `reason` is a part of a sentence for the owner of the endpoint, without a full stop. */
  | { readonly kind: 'failed'; readonly reason: string }

/** Sends one request to a public address within a time limit. It follows no redirect, and never throws. */
export type PostWebhook = (request: WebhookRequest) => Promise<WebhookAnswer>
