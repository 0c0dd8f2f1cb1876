/** The objects of a sandbox that the variables of a document name. */
export type DocumentObjects = {
  readonly environmentId: string
  readonly walletId: string
  /** A completed invoice of the wallet, with its hash. */
  readonly transactionId: string
  readonly paymentHash: string
  /** An invoice of another wallet with an amount, and one without. */
  readonly invoice: string
  readonly openInvoice: string
  readonly keyId: string
  /** An endpoint of webhooks, and an event that is due there. */
  readonly endpointId: string
  readonly eventId: string
  readonly btc: string
}

/** A document that clients of today send, in our own words. */
export type ClientDocument = {
  readonly name: string
  readonly document: string
  readonly variables?: (objects: DocumentObjects) => object
  /** The credential of the request. */
  readonly caller: 'dashboard' | 'service' | 'nobody'
  /** The path of the operation in the answer. */
  readonly path: string
  /** The part of payments that will serve the document. The gateway refuses the document until then. */
  readonly servedWith?: 'live wallets'
}

/** A page with its bounds. */
export const page = (list: string): string => `id total_count pagination { limit offset } list { ${list} }`

export const ASSET =
  'id symbol precision type description website_url taproot_asset_details { id asset_id group_key universe } prices { id usd }'
/** An amount, with the asset in which it is counted. */
export const AMOUNT = `id full_amount display_amount value { id usd_value } asset { ${ASSET} }`

/** The id of an object that does not exist yet, for documents that are refused. */
export const UNKNOWN_ID = '00000000-0000-4000-8000-00000000ffff'
