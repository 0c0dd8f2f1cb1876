import { Fault } from '@penstock/kernel/result.ts'
import { expect, test } from 'vitest'
import { asFault, Refusal, Unreached } from './refusal.ts'

const grpc = (code: number, details: string) => ({ err: { code, details } })

test.each([1, 4, 14])('gRPC code %i: the node was not reached', (code) => {
  expect(asFault([503, 'GetWalletInfoErr', grpc(code, 'no connection')])).toBeInstanceOf(Unreached)
})

test('the package’s own word for a node that is away', () => {
  expect(asFault([503, 'FailedToConnectToDaemon'])).toBeInstanceOf(Unreached)
})

test('a call that the macaroon does not allow names the way out', () => {
  const fault = asFault([503, 'UnexpectedLookupInvoiceErr', grpc(2, 'permission denied')])
  expect(fault).toBeInstanceOf(Fault)
  expect(fault).not.toBeInstanceOf(Refusal)
  expect(fault.message).toMatch(/penstock lnd bake/)
})

test('any other no keeps its code, its reason and lnd’s words', () => {
  expect(asFault([402, 'CannotSettleHtlcBeforeHtlcReceived'])).toMatchObject({ code: 402, said: '' })
  const refusal = asFault([503, 'UnexpectedLookupInvoiceErr', grpc(2, 'unable to locate invoice')])
  expect(refusal).toMatchObject({ code: 503, reason: 'UnexpectedLookupInvoiceErr', said: 'unable to locate invoice' })
  expect(asFault([503, 'UnexpectedGetChannelInfoError', grpc(5, 'edge not found: op=1')])).toMatchObject({ code: 404 })
  expect(asFault([503, 'FailedToBroadcastRawTransaction', { res: { publish_error: 'orphan' } }])).toMatchObject({
    said: 'orphan',
  })
})

test('where a payment failed comes along', () => {
  const failures = [[503, 'FeeInsufficient', { index: 1 }]]
  expect(asFault([503, 'FeeInsufficient', { failures }])).toMatchObject({ reason: 'FeeInsufficient', failure: { index: 1 } })
})

test('a mistake of ours stays one', () => {
  const mistake = new Error('ExpectedPaymentHashToPayViaRoutes')
  expect(asFault(mistake)).toBe(mistake)
  expect(asFault('what?')).toBeInstanceOf(Fault)
})
