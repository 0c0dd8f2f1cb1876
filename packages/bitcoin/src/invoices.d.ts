/** Types for the used parts of the package `invoices`, which has no types. */
declare module 'invoices' {
  export function createUnsignedRequest(request: {
    cltv_delta: number
    created_at: string
    description?: string
    description_hash?: string
    expires_at: string
    features: { bit: number }[]
    id: string
    mtokens?: string
    network: string
    payment: string
  }): { hash: string; hrp: string; tags: number[] }
  export function createSignedRequest(request: { destination: string; hrp: string; signature: string; tags: number[] }): {
    request: string
  }
  /** @throws Error for any text that is not a payment request with a valid signature */
  export function parsePaymentRequest(request: { request: string }): {
    cltv_delta: number
    created_at: string
    description?: string
    description_hash?: string
    destination: string
    expires_at: string
    id?: string
    mtokens: string
    network: string
  }
}
