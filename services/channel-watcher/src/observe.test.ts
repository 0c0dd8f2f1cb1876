import type { EvidenceData } from '@penstock/contracts/settlement.ts'
import {
  sellerAttestation,
  buyerPubkey,
  fundingConfirmed,
  leaseEnded,
  createEvidence,
  channelFact,
  startLeaseCommand,
  leaseStarted,
  fundingLost,
  fundingMissing,
  acceptedOutpoint,
  observeCommand,
  openedChannelFacts,
  otherOutpoint,
  channelOutpoint,
  createOutput,
  confirmationsReached,
  fundingSeen,
  sellerPubkey,
  createSpend,
  watchStarted,
  watchStopped,
  threeConfirmations,
  twoConfirmations,
  channelInvalid,
} from '@penstock/testkit/channel-facts.ts'
import { given } from '@penstock/testkit/given.ts'
import { describe, test } from 'vitest'
import { channelDecider } from './channel.decide.ts'

/** The fields that name the watch in each expected fact. */
const watch = { outpoint: channelOutpoint, outpointNumber: 1 }

describe('the funding transaction', () => {
  test('is seen in the mempool, then in blocks', () => {
    given(channelDecider, watchStarted)
      .when(observeCommand(createEvidence(100, createOutput(null))))
      .then(fundingSeen)
    given(channelDecider, watchStarted, fundingSeen)
      .when(observeCommand(createEvidence(100, createOutput(null))))
      .then()
    given(channelDecider, watchStarted, fundingSeen)
      .when(observeCommand(createEvidence(101, createOutput(101))))
      .then(fundingConfirmed)
    given(channelDecider, watchStarted, fundingSeen, fundingConfirmed)
      .when(observeCommand(createEvidence(102, createOutput(101))))
      .then(twoConfirmations)
    given(channelDecider, watchStarted, fundingSeen, fundingConfirmed, twoConfirmations)
      .when(observeCommand(createEvidence(103, createOutput(101))))
      .then(threeConfirmations, confirmationsReached)
  })
  test('may have all its confirmations when it is first seen', () => {
    const deep = channelFact('ConfirmationsSeen', { outpoint: channelOutpoint, confirmations: 6, tipHeight: 150 })
    given(channelDecider, watchStarted)
      .when(observeCommand(createEvidence(150, createOutput(101))))
      .then(
        channelFact('FundingSeen', { ...watch, atHeight: 150, attempt: 1 }),
        fundingConfirmed,
        deep,
        channelFact('ConfirmationsReached', { ...watch, confirmations: 6, tipHeight: 150 }),
      )
  })
  test('is lost if it is not seen in time or not confirmed in time', () => {
    given(channelDecider, watchStarted)
      .when(observeCommand(createEvidence(105, null)))
      .then()
    const never = channelFact('FundingLost', {
      ...watch,
      failure: 'never-seen',
      reason: 'The funding transaction was not seen by block 106.',
      tipHeight: 106,
    })
    given(channelDecider, watchStarted)
      .when(observeCommand(createEvidence(106, null)))
      .then(never)
    given(channelDecider, watchStarted, fundingSeen)
      .when(observeCommand(createEvidence(107, createOutput(null))))
      .then()
    const late = channelFact('FundingLost', {
      ...watch,
      failure: 'unconfirmed',
      reason: 'The funding transaction was not confirmed by block 108.',
      tipHeight: 108,
    })
    given(channelDecider, watchStarted, fundingSeen)
      .when(observeCommand(createEvidence(108, createOutput(null))))
      .then(late)
    given(channelDecider, watchStarted, never)
      .when(observeCommand(createEvidence(107, createOutput(107))))
      .then()
  })
  test('may be missing for two blocks, and not longer', () => {
    given(channelDecider, watchStarted, fundingSeen)
      .when(observeCommand(createEvidence(102, null)))
      .then(fundingMissing)
    given(channelDecider, watchStarted, fundingSeen, fundingMissing)
      .when(observeCommand(createEvidence(103, null)))
      .then()
    given(channelDecider, watchStarted, fundingSeen, fundingMissing)
      .when(observeCommand(createEvidence(103, createOutput(null))))
      .then(channelFact('FundingSeen', { ...watch, atHeight: 103, attempt: 1 }))
    const reason = 'The funding transaction was seen and is gone: replaced, double-spent or dropped.'
    given(channelDecider, watchStarted, fundingSeen, fundingMissing)
      .when(observeCommand(createEvidence(104, null)))
      .then(channelFact('FundingLost', { ...watch, failure: 'vanished', reason, tipHeight: 104 }))
  })
  test('is never recorded as missing without a mempool source', () => {
    given(channelDecider, watchStarted, fundingSeen)
      .when(observeCommand(createEvidence(102, null), false))
      .then()
    given(channelDecider, watchStarted, fundingSeen)
      .when(observeCommand(createEvidence(108, null), false))
      .then(
        channelFact('FundingLost', {
          ...watch,
          failure: 'unconfirmed',
          reason: 'The funding transaction was not confirmed by block 108.',
          tipHeight: 108,
        }),
      )
  })
  test('is noticed between blocks only while it is unseen', () => {
    const notice = (evidence: EvidenceData) => ({ type: 'NoticeFunding' as const, data: { outpoint: channelOutpoint, evidence } })
    given(channelDecider, watchStarted)
      .when(notice(createEvidence(100, createOutput(null))))
      .then(fundingSeen)
    given(channelDecider, watchStarted, fundingSeen, fundingConfirmed)
      .when(notice(createEvidence(100, createOutput(null))))
      .then()
    given(channelDecider, watchStarted, fundingLost)
      .when(notice(createEvidence(100, createOutput(null))))
      .then()
  })
})

describe('a re-organisation', () => {
  const reorged = (tipHeight: number, confirmedBefore: number) =>
    channelFact('FundingReorged', { ...watch, tipHeight, confirmedBefore })
  test('returns the funding to the mempool', () => {
    given(channelDecider, ...openedChannelFacts)
      .when(observeCommand(createEvidence(102, createOutput(null))))
      .then(reorged(102, 110))
    given(channelDecider, ...openedChannelFacts)
      .when(observeCommand(createEvidence(100, createOutput(null))))
      .then(reorged(100, 108))
  })
  test('may move the funding into another block, even at the same height', () => {
    const moved = channelFact('FundingConfirmed', {
      ...watch,
      height: 101,
      shortChannelId: '101x7x1',
    })
    given(channelDecider, watchStarted, fundingSeen, fundingConfirmed)
      .when(observeCommand(createEvidence(101, createOutput(101, { txIndex: 7 }))))
      .then(reorged(101, 109), moved)
  })
  test('may remove the funding from the chain and the mempool', () => {
    given(channelDecider, ...openedChannelFacts)
      .when(observeCommand(createEvidence(102, null)))
      .then(reorged(102, 110), fundingMissing)
  })
  test('may reduce the number of confirmations', () => {
    given(channelDecider, ...openedChannelFacts)
      .when(observeCommand(createEvidence(102, createOutput(101))))
      .then(twoConfirmations)
    given(channelDecider, ...openedChannelFacts, twoConfirmations)
      .when(observeCommand(createEvidence(103, createOutput(101))))
      .then(threeConfirmations)
  })
  test('of a leased channel is recorded, and ends the lease if the funding does not return', () => {
    const during = [...openedChannelFacts, leaseStarted]
    given(channelDecider, ...during)
      .when(observeCommand(createEvidence(104, null)))
      .then(reorged(104, 112))
    given(channelDecider, ...during, reorged(104, 112))
      .when(observeCommand(createEvidence(111, null)))
      .then()
    given(channelDecider, ...during, reorged(104, 112))
      .when(observeCommand(createEvidence(112, null)))
      .then(
        channelFact('LeaseEnded', { outpoint: channelOutpoint, early: true, closedBy: 'unknown', spentBy: null, tipHeight: 112 }),
      )
    given(channelDecider, ...during, reorged(104, 112))
      .when(observeCommand(createEvidence(105, createOutput(105))))
      .then(channelFact('FundingConfirmed', { ...watch, height: 105, shortChannelId: '105x2x1' }))
  })
})

describe('an invalid channel', () => {
  const isWrong = (code: string, reason: string, tipHeight = 101) =>
    channelFact('ChannelInvalid', { ...watch, code, reason, tipHeight })
  test('is recognised by its output', () => {
    given(channelDecider, watchStarted)
      .when(observeCommand(createEvidence(101, createOutput(null, { valueSat: '999999' }))))
      .then(isWrong('value-too-small', 'The output has 999999 sat; 1000000 sat were sold.'))
    given(channelDecider, watchStarted, fundingSeen)
      .when(observeCommand(createEvidence(101, createOutput(null, { script: `0014${'ab'.repeat(20)}` }))))
      .then(isWrong('not-a-funding-output', "The output is of type p2wpkh; a channel's funding output is P2WSH or P2TR."))
  })
  test("is recognised by its announcement or by its seller's attestation", () => {
    const graph = { capacitySat: '1000000', nodes: [sellerPubkey, sellerPubkey] as [string, string], shortChannelId: '101x2x1' }
    given(channelDecider, watchStarted, fundingSeen, fundingConfirmed)
      .when(observeCommand(createEvidence(101, createOutput(101), { graph })))
      .then(isWrong('announced-nodes', 'The channel is announced between other nodes.'))
    const signed = {
      attestation: { ...sellerAttestation, nodeKeys: [sellerPubkey, sellerPubkey] as [string, string] },
      attestationSigner: sellerPubkey,
    }
    given(channelDecider, watchStarted, fundingSeen, fundingMissing)
      .when(observeCommand(createEvidence(101, createOutput(101), signed)))
      .then(isWrong('attested-nodes', 'The attestation names other nodes.'))
  })
  test('is recognised by a spend in a block, and not by a spend in the mempool', () => {
    given(channelDecider, ...openedChannelFacts)
      .when(observeCommand(createEvidence(103, createOutput(101, createSpend(null)))))
      .then()
    given(channelDecider, ...openedChannelFacts)
      .when(observeCommand(createEvidence(103, createOutput(101, createSpend(103)))))
      .then(isWrong('spent', `Transaction ${'cc'.repeat(32)} in block 103 spends the output.`, 103))
  })
  test('is not recognised by a failed probe', () => {
    given(channelDecider, ...openedChannelFacts)
      .when(observeCommand(createEvidence(103, createOutput(101), { probe: 'not-reached' })))
      .then()
  })
})

test('the peer proof is recorded once, by the graph or by a probe', () => {
  const graph = { capacitySat: '1000000', nodes: [buyerPubkey, sellerPubkey] as [string, string], shortChannelId: '101x2x1' }
  for (const [more, peer] of [
    [{ graph }, 'graph'],
    [{ probe: 'reached' as const }, 'probe'],
  ] as const) {
    const proof = channelFact('ChannelProven', { outpoint: channelOutpoint, peer, tipHeight: 103 })
    for (const history of [openedChannelFacts, [...openedChannelFacts, leaseStarted]]) {
      given(channelDecider, ...history)
        .when(observeCommand(createEvidence(103, createOutput(101), more)))
        .then(proof)
      given(channelDecider, ...history, proof)
        .when(observeCommand(createEvidence(103, createOutput(101), more)))
        .then()
    }
  }
  given(channelDecider, ...openedChannelFacts)
    .when(observeCommand(createEvidence(103, createOutput(101), { probe: 'reached', otherChannelsBetween: true })))
    .then()
})

describe('promised fee caps', () => {
  const feeCaps = { baseFeeCapSat: '1', feeRateCapPpm: 500 }
  const promised = [
    channelFact('WatchStarted', { ...acceptedOutpoint, feeCaps, fromHeight: 93, seenBefore: 106, confirmedBefore: 108 }),
  ]
  const during = [
    ...promised,
    fundingSeen,
    fundingConfirmed,
    twoConfirmations,
    threeConfirmations,
    confirmationsReached,
    leaseStarted,
    channelFact('ChannelProven', { outpoint: channelOutpoint, peer: 'graph', tipHeight: 103 }),
  ]
  const takes = (baseFeeMsat: string, feeRatePpm: number) =>
    observeCommand(
      createEvidence(103, createOutput(101), {
        graph: {
          capacitySat: '1000000',
          nodes: [sellerPubkey, buyerPubkey],
          shortChannelId: '101x2x1',
          sellerFees: { baseFeeMsat, feeRatePpm },
        },
      }),
    )
  const baseFeeBroken = channelFact('PromiseBroken', {
    attempt: 1,
    outpoint: channelOutpoint,
    what: 'base-fee',
    reason: 'The seller takes a base fee of 1001 msat; at most 1 sat were promised.',
    tipHeight: 103,
  })
  test('allow fees up to the caps', () =>
    given(channelDecider, ...during)
      .when(takes('1000', 500))
      .then())
  test('are broken once, by a higher base fee or a higher fee rate', () => {
    given(channelDecider, ...during)
      .when(takes('1001', 500))
      .then(baseFeeBroken)
    given(channelDecider, ...during)
      .when(takes('0', 501))
      .then(
        channelFact('PromiseBroken', {
          attempt: 1,
          outpoint: channelOutpoint,
          what: 'fee-rate',
          reason: 'The seller takes 501 ppm for forwarding; at most 500 ppm were promised.',
          tipHeight: 103,
        }),
      )
    given(channelDecider, ...during, baseFeeBroken)
      .when(takes('9999', 9999))
      .then()
  })
  test('apply only during the lease, and only if the order sent them', () => {
    const proven = during.filter(({ type }) => type !== 'LeaseStarted')
    given(channelDecider, ...proven)
      .when(takes('9999', 9999))
      .then()
    given(channelDecider, watchStarted, ...during.slice(1))
      .when(takes('9999', 9999))
      .then()
  })
})

describe('a lease', () => {
  test('counts from the block that confirmed the channel', () => {
    given(channelDecider, ...openedChannelFacts)
      .when(startLeaseCommand)
      .then(leaseStarted)
    given(channelDecider, ...openedChannelFacts, leaseStarted)
      .when(startLeaseCommand)
      .then()
    given(channelDecider, ...openedChannelFacts, leaseStarted, leaseEnded)
      .when(startLeaseCommand)
      .then()
  })
  test('that comes before its watch is refused, so that its order repeats it', () => {
    given(channelDecider).when(startLeaseCommand).refuses('NOT_WATCHED')
    given(channelDecider, ...openedChannelFacts)
      .when({ type: 'StartLease', data: { outpoint: otherOutpoint, height: 103 } })
      .refuses('NOT_WATCHED')
  })
  test('begins in any status of the watch, because the payment is settled', () => {
    const fromNow = channelFact('LeaseStarted', { outpoint: channelOutpoint, atHeight: 103, endsAtHeight: 203 })
    for (const history of [
      [watchStarted],
      [watchStarted, fundingSeen],
      [watchStarted, fundingSeen, fundingMissing],
      [watchStarted, fundingLost],
      [watchStarted, channelInvalid],
      [watchStarted, watchStopped],
    ])
      given(channelDecider, ...history)
        .when(startLeaseCommand)
        .then(fromNow)
    given(channelDecider, watchStarted, fromNow)
      .when(observeCommand(createEvidence(103, createOutput(101))))
      .then(fundingConfirmed, threeConfirmations)
  })
  test('counts no more than six confirmations', () => {
    const six = channelFact('ConfirmationsSeen', { outpoint: channelOutpoint, confirmations: 6, tipHeight: 106 })
    given(channelDecider, ...openedChannelFacts, leaseStarted)
      .when(observeCommand(createEvidence(106, createOutput(101))))
      .then(six)
    given(channelDecider, ...openedChannelFacts, leaseStarted, six)
      .when(observeCommand(createEvidence(150, createOutput(101))))
      .then()
  })
  test('ends with its last block, or early when the output is spent', () => {
    const six = channelFact('ConfirmationsSeen', { outpoint: channelOutpoint, confirmations: 6, tipHeight: 106 })
    const during = [...openedChannelFacts, leaseStarted, six]
    const spentBy = 'cc'.repeat(32)
    given(channelDecider, ...during)
      .when(observeCommand(createEvidence(200, createOutput(101))))
      .then()
    given(channelDecider, ...during)
      .when(observeCommand(createEvidence(201, createOutput(101))))
      .then(leaseEnded)
    given(channelDecider, ...during)
      .when(observeCommand(createEvidence(150, createOutput(101, createSpend(null)))))
      .then()
    given(channelDecider, ...during)
      .when(observeCommand(createEvidence(150, createOutput(101, createSpend(149)))))
      .then(channelFact('LeaseEnded', { outpoint: channelOutpoint, early: true, closedBy: 'unknown', spentBy, tipHeight: 150 }))
    given(channelDecider, ...during)
      .when(observeCommand(createEvidence(205, createOutput(101, createSpend(201)))))
      .then(channelFact('LeaseEnded', { outpoint: channelOutpoint, early: false, closedBy: null, spentBy, tipHeight: 205 }))
    given(channelDecider, ...during, leaseEnded)
      .when(observeCommand(createEvidence(250, createOutput(101, createSpend(201)))))
      .then()
  })
  test('records once that its channel is invalid', () => {
    const graph = { capacitySat: '1000000', nodes: [sellerPubkey, sellerPubkey] as [string, string], shortChannelId: '101x2x1' }
    const announced = channelFact('ChannelInvalid', {
      ...watch,
      code: 'announced-nodes',
      reason: 'The channel is announced between other nodes.',
      tipHeight: 103,
    })
    given(channelDecider, ...openedChannelFacts, leaseStarted)
      .when(observeCommand(createEvidence(103, createOutput(101), { graph })))
      .then(announced)
    given(channelDecider, ...openedChannelFacts, leaseStarted, announced)
      .when(observeCommand(createEvidence(103, createOutput(101), { graph })))
      .then()
  })
})
