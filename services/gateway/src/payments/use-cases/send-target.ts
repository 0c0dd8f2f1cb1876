import { decodePaymentRequest, type PaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { MSAT_PER_SAT, satToMsat } from '@penstock/kernel/money.ts'
import { invalidInput } from '../../errors.ts'
import type { CreateSendTransactionInput } from '../../generated/schema-types.ts'
import { parseBaseUnits } from '../input.ts'

/** The payee of a send, as its caller named it. `amount` is in base units. */
export type SendTarget =
  | {
      readonly kind: 'invoice'
      readonly request: string
      readonly decoded: PaymentRequest
      readonly amount: bigint
      readonly amountMsat: bigint
    }
  | { readonly kind: 'address'; readonly address: string; readonly amount: bigint; readonly amountMsat: bigint }

const MAX_REQUEST_LENGTH = 2048
const MAX_ADDRESS_LENGTH = 255
/** LUD-16 allows these characters in a name; the domain may have a port. */
const ADDRESS = /^[a-z0-9._+-]+@[a-z0-9-]+(\.[a-z0-9-]+)*(:\d{1,5})?$/i

export function parseSendTarget({ request, address }: Pick<CreateSendTransactionInput, 'request' | 'address'>): SendTarget {
  if (request && !address) return parseInvoice(request.bolt11, request.amount)
  if (address && !request) return parseAddress(address.lightning_address, address.amount)
  throw invalidInput('Name exactly one of request and address')
}

function parseInvoice(text: string, givenAmount: string | null | undefined): SendTarget {
  const request = text.trim()
  const decoded = request.length <= MAX_REQUEST_LENGTH ? decodePaymentRequest(request) : undefined
  if (!decoded) throw invalidInput('request.bolt11 must be a BOLT11 invoice of at most 2048 characters')
  const given = typeof givenAmount === 'string' ? parseBaseUnits(givenAmount, 'request.amount') : undefined
  if (decoded.amountMsat === undefined) {
    if (given === undefined) throw invalidInput('The invoice has no amount. Name it in request.amount.')
    return { kind: 'invoice', request, decoded, amount: given, amountMsat: satToMsat(given) }
  }
  const { amountMsat } = decoded
  // A sent amount is rounded up, so that it covers the payment.
  const amount = (amountMsat + MSAT_PER_SAT - 1n) / MSAT_PER_SAT
  if (given !== undefined && given !== amount) throw invalidInput('The invoice has another amount. Leave out request.amount.')
  return { kind: 'invoice', request, decoded, amount, amountMsat }
}

function parseAddress(text: string, givenAmount: string): SendTarget {
  const address = text.trim()
  if (address.length > MAX_ADDRESS_LENGTH || !ADDRESS.test(address))
    throw invalidInput('address.lightning_address must be a Lightning address such as name@example.com')
  const amount = parseBaseUnits(givenAmount, 'address.amount')
  return { kind: 'address', address, amount, amountMsat: satToMsat(amount) }
}
