import { channelContract, outpointClaimContract } from '@penstock/contracts/channel.ts'
import { on, type Reaction } from '@penstock/runtime/service.ts'

/** The stream of a watch has the order's id, and the stream of a claim has the outpoint as its id. */
export const reactionsToChannel: readonly Reaction[] = [
  on(outpointClaimContract, 'OutpointClaimed', 'order.RecordOutpointClaim', ({ orderId, attempt }, { aggregateId: outpoint }) => [
    { id: orderId, data: { attempt, outpoint, granted: true } },
  ]),
  on(
    outpointClaimContract,
    'OutpointClaimRefused',
    'order.RecordOutpointClaim',
    ({ orderId, attempt }, { aggregateId: outpoint }) => [{ id: orderId, data: { attempt, outpoint, granted: false } }],
  ),
  on(channelContract, 'FundingSeen', 'order.RecordFundingSeen', ({ outpoint, outpointNumber }, { aggregateId }) => [
    { id: aggregateId, data: { outpoint, outpointNumber } },
  ]),
  on(
    channelContract,
    'FundingConfirmed',
    'order.RecordFundingConfirmed',
    ({ outpoint, height, shortChannelId, outpointNumber }, { aggregateId }) => [
      { id: aggregateId, data: { outpoint, height, channelId: shortChannelId, outpointNumber } },
    ],
  ),
  on(
    channelContract,
    'ConfirmationsReached',
    'order.RecordConfirmationsReached',
    ({ outpoint, confirmations, outpointNumber }, { aggregateId }) => [
      { id: aggregateId, data: { outpoint, confirmations, outpointNumber } },
    ],
  ),
  on(channelContract, 'FundingReorged', 'order.RecordFundingReorged', ({ outpoint, outpointNumber }, { aggregateId }) => [
    { id: aggregateId, data: { outpoint, outpointNumber } },
  ]),
  on(
    channelContract,
    'FundingLost',
    'order.RecordFundingLost',
    ({ outpoint, failure, reason, outpointNumber }, { aggregateId }) => [
      { id: aggregateId, data: { outpoint, failure, reason, outpointNumber } },
    ],
  ),
  // Only the two nodes know which of them spent the output, so no seller is blamed for it.
  on(
    channelContract,
    'ChannelInvalid',
    'order.RecordChannelInvalid',
    ({ outpoint, code, reason, outpointNumber }, { aggregateId }) => [
      { id: aggregateId, data: { outpoint, reason, blamed: code !== 'spent', outpointNumber } },
    ],
  ),
  on(channelContract, 'LeaseEnded', 'order.RecordLeaseEnded', ({ outpoint, early, closedBy }, { aggregateId }) => [
    { id: aggregateId, data: { outpoint, early, closedBy } },
  ]),
]
