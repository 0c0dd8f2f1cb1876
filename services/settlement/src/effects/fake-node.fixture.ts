import { paymentHashOf } from '@penstock/bitcoin/hex.ts'
import {
  AddressRefused,
  type CancelOutcome,
  type Invoice,
  type PaymentState,
  type SettleOutcome,
} from '@penstock/ports/lightning.ts'
import { settlementFact, HASH, NOW, node, ORDER_ID, makePayoutInvoice, holdRequestedFact, stranger } from '../samples.fixture.ts'
import type { SettlementEffectContext } from './ports.ts'

export const PREIMAGE = '11'.repeat(32)
/** A hold whose payment hash belongs to the preimage of the fake keyring. */
export const ourHoldRequested = settlementFact('HoldRequested', {
  ...holdRequestedFact.data,
  paymentHash: paymentHashOf(PREIMAGE),
})
export const invoiceIn = (state: Invoice['state'], change: Partial<Invoice> = {}): Invoice => ({
  paymentHash: HASH,
  request: makePayoutInvoice().request,
  amountMsat: 5_000_000n,
  state,
  htlcs: [
    {
      amountMsat: 5_000_000n,
      expiryHeight: 1000,
      peer: stranger,
      state: state === 'settled' ? 'settled' : 'held',
      acceptedAt: null,
    },
  ],
  ...change,
})

type FakeAnswers = {
  invoice?: Invoice | undefined
  settle?: SettleOutcome
  cancel?: CancelOutcome
  payment?: PaymentState | undefined
  paid?: PaymentState
  stillAsked?: boolean
  node?: object
  tip?: object
  connected?: boolean
  answering?: readonly string[]
  known?: readonly string[]
  /** Sockets that the node must not connect to. */
  forbidden?: readonly string[]
}
/** A fake node with the given answers, which lists the calls that it received. */
export function fakeNode(answers: FakeAnswers = {}) {
  const calls: string[] = []
  const answerCall = <T>(call: string, answer: T): Promise<T> => {
    calls.push(call)
    return Promise.resolve(answer)
  }
  const ports = {
    lightning: {
      info: () => Promise.resolve({ pubkey: node, synced: true, graphSynced: true, height: 900, ...answers.node }),
      holds: {
        find: () => answerCall('find', answers.invoice),
        create: () => answerCall('create', invoiceIn('open')),
        settle: () => answerCall('settle', answers.settle ?? 'settled'),
        cancel: () => answerCall('cancel', answers.cancel ?? 'cancelled'),
      },
      payments: {
        find: () => answerCall('find payment', answers.payment),
        pay: (_: string, { maxFeeMsat }: { maxFeeMsat: bigint }) =>
          answerCall(`pay at most ${maxFeeMsat}`, answers.paid ?? { state: 'succeeded', preimage: PREIMAGE, feeMsat: 7n }),
      },
      peers: {
        isConnected: () => answerCall('is connected', answers.connected ?? false),
        connect: (_: string, socket: string) =>
          answers.forbidden?.includes(socket)
            ? Promise.reject(new AddressRefused(`${socket} is not public`))
            : answerCall(`connect ${socket}`, answers.answering?.includes(socket) ?? false),
        addresses: () => answerCall('addresses', { alias: 'b', sockets: answers.known ?? [] }),
      },
      graph: {
        channel: () => answerCall('channel', undefined),
        between: () => answerCall('between', []),
        probe: () => answerCall('probe', { reached: true }),
      },
    },
    chain: {
      tip: () => Promise.resolve({ height: 900, synced: true, ...answers.tip }),
      sees: { mempool: true },
      output: () => answerCall('output', undefined),
    },
    keyring: { preimageOf: () => PREIMAGE },
    network: 'mainnet',
    clock: { now: () => NOW, monotonicMs: () => NOW, sleep: () => new Promise(() => undefined) },
  }
  // The fake contains only the calls that effects make; another call would fail the test.
  const isStillRequested = () => Promise.resolve(answers.stillAsked ?? true)
  const { signal } = new AbortController()
  return {
    calls,
    context: { id: ORDER_ID, ports: ports as unknown as SettlementEffectContext['ports'], signal, isStillRequested },
  }
}
