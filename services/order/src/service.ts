import { order as orderContract } from '@penstock/contracts/order.ts'
import { aggregate, service } from '@penstock/runtime/service.ts'
import { network, type OrderPorts } from './enrich.ts'
import { fulfilment } from './fulfilment.ts'
import { order } from './order.ts'
import { payoutsInTurn } from './payout.ts'
import type { Order, Placed } from './state.ts'
import { reactionsToChannel } from './service/channel.ts'
import { reactionsToMatching } from './service/matching.ts'
import { reactionsToSettlement } from './service/settlement.ts'

export const orders = service<OrderPorts>('order', {
  aggregates: [
    aggregate({
      contract: orderContract,
      decider: order,
      hashed: { version: 4, of: { 1: withoutSuperseded, 2: withoutNamings, 3: withoutWrong, 4: (state: Order) => state } },
      enrich: { Accept: network },
      process: fulfilment,
    }),
  ],
  reactions: [...reactionsToSettlement, ...reactionsToMatching, ...reactionsToChannel],
})

/** As it was hashed before invoices of a lost turn were kept. */
function withoutSuperseded(state: Order): unknown {
  return state.status === 'NONE' ? state : { ...placedWithoutNamings(state), payouts: payoutsInTurn(state.payouts) }
}

/** As it was hashed before the namings of an attempt were counted. */
function withoutNamings(state: Order): unknown {
  return state.status === 'NONE' ? state : placedWithoutNamings(state)
}

/** As it was hashed before it was kept what the watch had found of an outpoint that is being replaced. */
function withoutWrong(state: Order): unknown {
  return state.status === 'NONE' ? state : placedWithoutWrong(state)
}

const placedWithoutWrong = (state: Placed) => ({ ...state, named: state.named && { ...state.named, wrong: undefined } })

const placedWithoutNamings = (state: Placed) => ({
  ...placedWithoutWrong(state),
  attempts: state.attempts.map((attempt) => ({ ...attempt, outpoints: undefined, window: undefined })),
})
