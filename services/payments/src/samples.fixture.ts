import { btcAsset } from '@penstock/contracts/payments/assets.ts'
import type { ReceiveCommand } from '@penstock/contracts/payments/receive.ts'
import type { SendCommand } from '@penstock/contracts/payments/send.ts'
import { pubkeyFor, uuidFor } from '@penstock/testkit/book-entries.ts'

type DataOf<C, Type> = C extends { readonly type: Type; readonly data: infer Data } ? Data : never

/** The instant at which the samples begin, in milliseconds since 1970. */
export const START = 1_800_000_000_000

export const hashFor = (n: number): string => `${n}`.padStart(64, '0')

const walletReference = {
  walletId: uuidFor(1),
  environmentId: uuidFor(2),
  environmentType: 'SANDBOX' as const,
  teamId: uuidFor(3),
  assetId: btcAsset.id,
}

export const receiveRequest: DataOf<ReceiveCommand, 'RequestReceive'> = {
  ...walletReference,
  amount: '2500',
  amountMsat: '2500000',
  textRecord: uuidFor(4),
  fingerprint: hashFor(1),
  paymentHash: hashFor(2),
  issuedAt: START,
  expiresAt: START + 600_000,
  behavior: 'complete',
}

export const sendRequest: DataOf<SendCommand, 'RequestSend'> = {
  ...walletReference,
  target: 'invoice',
  amount: '2500',
  textRecord: uuidFor(4),
  fingerprint: hashFor(1),
  invoice: { paymentHash: hashFor(2), payee: pubkeyFor(1), amountMsat: '2500999', expiresAt: START + 600_000 },
  behavior: 'complete',
}

export const rate = { centsPerBtc: '9650000', at: START - 1000 }

/** The data that enrichment adds to a request whose outcome is due after one second. */
export const enrichment = { rate, outcomeAt: START + 1000, isDeleted: false }
