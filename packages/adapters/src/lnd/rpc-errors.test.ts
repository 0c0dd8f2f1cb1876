import { Fault } from '@penstock/kernel/result.ts'
import { expect, test } from 'vitest'
import { toLndFault, LndRefusal, LndUnreachable } from './rpc-errors.ts'

const grpc = (code: number, details: string) => ({ err: { code, details } })

test.each([1, 4, 14])('gRPC code %i becomes LndUnreachable', (code) => {
  expect(toLndFault([503, 'GetWalletInfoErr', grpc(code, 'no connection')])).toBeInstanceOf(LndUnreachable)
})

test('the error FailedToConnectToDaemon of `lightning` becomes LndUnreachable', () => {
  expect(toLndFault([503, 'FailedToConnectToDaemon'])).toBeInstanceOf(LndUnreachable)
})

test('a call that the macaroon does not allow fails with advice to bake another macaroon', () => {
  const fault = toLndFault([503, 'UnexpectedLookupInvoiceErr', grpc(2, 'permission denied')])
  expect(fault).toBeInstanceOf(Fault)
  expect(fault).not.toBeInstanceOf(LndRefusal)
  expect(fault.message).toMatch(/penstock lnd bake/)
})

test('any other refusal keeps its code, its reason and the text of lnd', () => {
  expect(toLndFault([402, 'CannotSettleHtlcBeforeHtlcReceived'])).toMatchObject({ code: 402, details: '' })
  const refusal = toLndFault([503, 'UnexpectedLookupInvoiceErr', grpc(2, 'unable to locate invoice')])
  expect(refusal).toMatchObject({ code: 503, reason: 'UnexpectedLookupInvoiceErr', details: 'unable to locate invoice' })
  expect(toLndFault([503, 'UnexpectedGetChannelInfoError', grpc(5, 'edge not found: op=1')])).toMatchObject({ code: 404 })
  expect(toLndFault([503, 'FailedToBroadcastRawTransaction', { res: { publish_error: 'orphan' } }])).toMatchObject({
    details: 'orphan',
  })
})

test('a refusal carries the hop at which a payment failed', () => {
  const failures = [[503, 'FeeInsufficient', { index: 1 }]]
  expect(toLndFault([503, 'FeeInsufficient', { failures }])).toMatchObject({ reason: 'FeeInsufficient', failure: { index: 1 } })
})

test('an error of our own call is passed through', () => {
  const mistake = new Error('ExpectedPaymentHashToPayViaRoutes')
  expect(toLndFault(mistake)).toBe(mistake)
  expect(toLndFault('what?')).toBeInstanceOf(Fault)
})
