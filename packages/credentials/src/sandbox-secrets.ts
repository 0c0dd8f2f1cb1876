import { computeHmac, type Pepper } from './credentials.ts'

/** The secrets of a sandbox's invoice. They are derived again for each use. No money depends on them. */
export const deriveSandboxPreimage = (pepper: Pepper, transactionId: string): string =>
  computeHmac(pepper, 'sandbox preimage', transactionId).toString('hex')

export const deriveSandboxPaymentSecret = (pepper: Pepper, transactionId: string): string =>
  computeHmac(pepper, 'sandbox payment secret', transactionId).toString('hex')

/** The secret key with which every invoice of a sandbox is signed. */
export const deriveSandboxNodeKey = (pepper: Pepper): Uint8Array => computeHmac(pepper, 'sandbox node', 'regtest')

/** Hashes the input of a request, so that a repeated request is recognised without its texts. @returns 64 hex digits */
export const hashRequest = (pepper: Pepper, input: string): string => computeHmac(pepper, 'request', input).toString('hex')
