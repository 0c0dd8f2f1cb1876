export type WebhookAmount = {
  /** Base units of the asset, in digits. */
  readonly amount: string
  readonly asset_id: string
  readonly asset_symbol: string
  /** The number of decimal places between the base unit and the whole unit. */
  readonly precision: number
}

/** The transaction of an event, in its state at that time. */
export type WebhookTransaction = {
  readonly id: string
  readonly direction: 'receive' | 'send'
  readonly status: 'pending' | 'completed' | 'failed' | 'expired'
  readonly payment_details: {
    readonly payment_type: 'bolt11'
    readonly payment_request: string | null
    readonly payment_hash: string | null
  }
  readonly amount: WebhookAmount | null
  readonly fee: WebhookAmount | null
  readonly settle_amount: WebhookAmount | null
  readonly exchange_rate: string | null
  readonly description: string | null
  readonly settled_at: string | null
  readonly expires_at: string | null
  /** The metadata of `create_receive` or `create_send`. */
  readonly metadata: Readonly<Record<string, unknown>> | null
}

type EnvelopeBase = {
  /** The same for each delivery of an event: ignore an event whose id you have handled. */
  readonly id: string
  readonly environment: 'sandbox' | 'live'
  readonly environment_id: string
  /** Null in a sandbox. */
  readonly node_id: string | null
}

export type PaymentEnvelope = EnvelopeBase & {
  readonly event_type: 'payment.pending' | 'payment.completed' | 'payment.failed' | 'payment.expired'
  readonly wallet_id: string
  readonly data: WebhookTransaction
}

/** The event that `payment.webhookEndpoint.test` sends. It reports no transaction, so its values are null. */
export type TestEnvelope = EnvelopeBase & {
  readonly event_type: 'webhook.test'
  readonly wallet_id: null
  readonly data: Omit<WebhookTransaction, 'status'> & { readonly status: 'test' }
}

/** The body of a delivery. Later versions may add types of events: ignore a type that you do not know. */
export type WebhookEnvelope = PaymentEnvelope | TestEnvelope
