import { order as orderContract } from '@penstock/contracts/order.ts'
import { aggregate, service } from '@penstock/runtime/service.ts'
import { network, type OrderPorts } from './enrich.ts'
import { fulfilment } from './fulfilment.ts'
import { order } from './order.ts'
import { reactionsToChannel } from './service/channel.ts'
import { reactionsToMatching } from './service/matching.ts'
import { reactionsToSettlement } from './service/settlement.ts'

export const orders = service<OrderPorts>('order', {
  aggregates: [
    aggregate({
      contract: orderContract,
      decider: order,
      hashed: { version: 1, of: { 1: (state) => state } },
      enrich: { Accept: network },
      process: fulfilment,
    }),
  ],
  reactions: [...reactionsToSettlement, ...reactionsToMatching, ...reactionsToChannel],
})
