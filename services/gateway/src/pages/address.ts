import { checkoutToken, type Pepper } from '@penstock/runtime/credentials.ts'
import { createHash } from 'node:crypto'

/** What a page is looked up by: who reads the table learns no address of a page. */
export const pageHash = (token: string): string => createHash('sha256').update(token).digest('hex')

export const pageHashOfOrder = (pepper: Pepper, orderId: string): string => pageHash(checkoutToken(pepper, orderId))

/** The checkout page of an order, under its own unguessable name. */
export const checkoutUrl = (gateway: { readonly pepper: Pepper; readonly baseUrl: () => string }, orderId: string): string =>
  `${gateway.baseUrl()}/checkout/${checkoutToken(gateway.pepper, orderId)}`
