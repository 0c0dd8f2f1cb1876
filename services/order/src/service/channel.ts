import { channel, outpointClaim } from '@penstock/contracts/channel.ts'
import { order } from '@penstock/contracts/order.ts'
import { ask, on, type Reaction } from '@penstock/runtime/service.ts'

/** The stream of a watch has the order's id, that of a claim is the outpoint. */
export const reactionsToChannel: readonly Reaction[] = [
  on(outpointClaim, 'OutpointClaimed', ({ orderId, attempt }, { aggregateId: outpoint }) => [
    ask(order, orderId, 'RecordOutpointClaim', { attempt, outpoint, granted: true }),
  ]),
  on(outpointClaim, 'OutpointClaimRefused', ({ orderId, attempt }, { aggregateId: outpoint }) => [
    ask(order, orderId, 'RecordOutpointClaim', { attempt, outpoint, granted: false }),
  ]),
  on(channel, 'WatchStarted', ({ outpoint, naming }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordTold', { what: 'watch-started', key: outpoint, naming }),
  ]),
  on(channel, 'AttestationKept', ({ outpoint, naming }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordTold', { what: 'attestation-kept', key: outpoint, naming }),
  ]),
  on(channel, 'FundingSeen', ({ outpoint, naming }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordFundingSeen', { outpoint, naming }),
  ]),
  on(channel, 'FundingConfirmed', ({ outpoint, height, shortChannelId, naming }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordFundingConfirmed', { outpoint, height, channelId: shortChannelId, naming }),
  ]),
  on(channel, 'ConfirmationsReached', ({ outpoint, confirmations, naming }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordConfirmationsReached', { outpoint, confirmations, naming }),
  ]),
  on(channel, 'FundingReorged', ({ outpoint, naming }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordFundingReorged', { outpoint, naming }),
  ]),
  on(channel, 'FundingLost', ({ outpoint, failure, reason, naming }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordFundingLost', { outpoint, failure, reason, naming }),
  ]),
  // Nobody but the two nodes knows who spent it.
  on(channel, 'ChannelWrong', ({ outpoint, code, reason, naming }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordChannelWrong', { outpoint, reason, blamed: code !== 'spent', naming }),
  ]),
  on(channel, 'LeaseStarted', ({ outpoint }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordTold', { what: 'lease-started', key: outpoint }),
  ]),
  on(channel, 'LeaseEnded', ({ outpoint, early, closedBy }, { aggregateId }) => [
    ask(order, aggregateId, 'RecordLeaseEnded', { outpoint, early, closedBy }),
  ]),
  on(channel, 'WatchStopped', (_data, { aggregateId }) => [
    ask(order, aggregateId, 'RecordTold', { what: 'watch-stopped', key: '1' }),
  ]),
]
