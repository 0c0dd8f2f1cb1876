import { command } from '@penstock/kernel/process.ts'
import { channelContract, outpointClaimContract } from '@penstock/contracts/channel.ts'
import type { OrderTarget } from '@penstock/contracts/order.ts'
import { on, type Reaction } from '@penstock/runtime/service.ts'

/** The stream of a watch has the order's id, and the stream of a claim has the outpoint as its id. */
export const reactionsToChannel: readonly Reaction[] = [
  on(outpointClaimContract, 'OutpointClaimed', ({ orderId, attempt }, { aggregateId: outpoint }) => [
    command<OrderTarget>('order', orderId, { type: 'RecordOutpointClaim', data: { attempt, outpoint, granted: true } }),
  ]),
  on(outpointClaimContract, 'OutpointClaimRefused', ({ orderId, attempt }, { aggregateId: outpoint }) => [
    command<OrderTarget>('order', orderId, { type: 'RecordOutpointClaim', data: { attempt, outpoint, granted: false } }),
  ]),
  on(channelContract, 'WatchStarted', ({ outpoint, outpointNumber }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, {
      type: 'RecordAcknowledgement',
      data: { what: 'watch-started', key: outpoint, outpointNumber },
    }),
  ]),
  on(channelContract, 'AttestationKept', ({ outpoint, outpointNumber }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, {
      type: 'RecordAcknowledgement',
      data: { what: 'attestation-kept', key: outpoint, outpointNumber },
    }),
  ]),
  on(channelContract, 'FundingSeen', ({ outpoint, outpointNumber }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, { type: 'RecordFundingSeen', data: { outpoint, outpointNumber } }),
  ]),
  on(channelContract, 'FundingConfirmed', ({ outpoint, height, shortChannelId, outpointNumber }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, {
      type: 'RecordFundingConfirmed',
      data: { outpoint, height, channelId: shortChannelId, outpointNumber },
    }),
  ]),
  on(channelContract, 'ConfirmationsReached', ({ outpoint, confirmations, outpointNumber }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, {
      type: 'RecordConfirmationsReached',
      data: { outpoint, confirmations, outpointNumber },
    }),
  ]),
  on(channelContract, 'FundingReorged', ({ outpoint, outpointNumber }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, { type: 'RecordFundingReorged', data: { outpoint, outpointNumber } }),
  ]),
  on(channelContract, 'FundingLost', ({ outpoint, failure, reason, outpointNumber }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, {
      type: 'RecordFundingLost',
      data: { outpoint, failure, reason, outpointNumber },
    }),
  ]),
  // Only the two nodes know which of them spent the output, so no seller is blamed for it.
  on(channelContract, 'ChannelInvalid', ({ outpoint, code, reason, outpointNumber }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, {
      type: 'RecordChannelInvalid',
      data: { outpoint, reason, blamed: code !== 'spent', outpointNumber },
    }),
  ]),
  on(channelContract, 'LeaseStarted', ({ outpoint }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, { type: 'RecordAcknowledgement', data: { what: 'lease-started', key: outpoint } }),
  ]),
  on(channelContract, 'LeaseEnded', ({ outpoint, early, closedBy }, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, { type: 'RecordLeaseEnded', data: { outpoint, early, closedBy } }),
  ]),
  on(channelContract, 'WatchStopped', (_data, { aggregateId }) => [
    command<OrderTarget>('order', aggregateId, { type: 'RecordAcknowledgement', data: { what: 'watch-stopped', key: '1' } }),
  ]),
]
