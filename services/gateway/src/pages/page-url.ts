import { deriveCheckoutToken, type Pepper } from '@penstock/credentials/credentials.ts'
import { createHash } from 'node:crypto'

/** Returns the key of a page in the read models. A reader of the tables cannot derive the page's URL from it. */
export const hashPageToken = (token: string): string => createHash('sha256').update(token).digest('hex')

export const hashOrderPage = (pepper: Pepper, orderId: string): string => hashPageToken(deriveCheckoutToken(pepper, orderId))

/** Returns the URL of an order's checkout page, which contains an unguessable token. */
export const buildCheckoutUrl = (gateway: { readonly pepper: Pepper; readonly baseUrl: () => string }, orderId: string): string =>
  `${gateway.baseUrl()}/checkout/${deriveCheckoutToken(gateway.pepper, orderId)}`

/** Returns the URL of an order's page, which asks for an invoice if an amount is owed to the buyer. */
export const buildOrderUrl = (gateway: { readonly pepper: Pepper; readonly baseUrl: () => string }, orderId: string): string =>
  `${gateway.baseUrl()}/orders/${deriveCheckoutToken(gateway.pepper, orderId)}`

/**
 * Returns the start page's address, relative to the page at a path. All links of a page begin with it, so that the pages also
 * work under a path of the public address, which a proxy removes.
 */
export const findRoot = (path: string): string => '../'.repeat(Math.min(path.split('/').length - 2, MAX_DEPTH)) || './'

/** Far above the depth of any page. Without it, a long path would make the page "not found" many times as long. */
const MAX_DEPTH = 64
