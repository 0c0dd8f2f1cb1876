import type { EvidenceData } from '@penstock/contracts/settlement.ts'
import {
  attestation,
  buyer,
  confirmed,
  ended,
  evidence,
  fact,
  lease,
  leased,
  lost,
  missing,
  named,
  observe,
  opened,
  other,
  outpoint,
  output,
  reached,
  seen,
  seller,
  spent,
  started,
  stopped,
  three,
  two,
  wrong,
} from '@penstock/testkit/channel-story.ts'
import { given } from '@penstock/testkit/given.ts'
import { describe, test } from 'vitest'
import { channelDecider } from './channel.decide.ts'

describe('the funding transaction', () => {
  test('is seen in the mempool, then in blocks', () => {
    given(channelDecider, started)
      .when(observe(evidence(100, output(null))))
      .then(seen)
    given(channelDecider, started, seen)
      .when(observe(evidence(100, output(null))))
      .then()
    given(channelDecider, started, seen)
      .when(observe(evidence(101, output(101))))
      .then(confirmed)
    given(channelDecider, started, seen, confirmed)
      .when(observe(evidence(102, output(101))))
      .then(two)
    given(channelDecider, started, seen, confirmed, two)
      .when(observe(evidence(103, output(101))))
      .then(three, reached)
  })
  test('may be found deep at once, by whoever was away', () => {
    const deep = fact('ConfirmationsSeen', { outpoint, confirmations: 6, tipHeight: 150 })
    given(channelDecider, started)
      .when(observe(evidence(150, output(101))))
      .then(
        fact('FundingSeen', { outpoint, atHeight: 150, naming: 1 }),
        confirmed,
        deep,
        fact('ConfirmationsReached', { outpoint, confirmations: 6, tipHeight: 150, naming: 1 }),
      )
  })
  test('is lost when no block brings it in time', () => {
    given(channelDecider, started)
      .when(observe(evidence(105, null)))
      .then()
    const never = fact('FundingLost', {
      outpoint,
      failure: 'never-seen',
      reason: 'The funding transaction was not seen by block 106.',
      tipHeight: 106,
      naming: 1,
    })
    given(channelDecider, started)
      .when(observe(evidence(106, null)))
      .then(never)
    given(channelDecider, started, seen)
      .when(observe(evidence(107, output(null))))
      .then()
    const late = fact('FundingLost', {
      outpoint,
      failure: 'unconfirmed',
      reason: 'The funding transaction was not confirmed by block 108.',
      tipHeight: 108,
      naming: 1,
    })
    given(channelDecider, started, seen)
      .when(observe(evidence(108, output(null))))
      .then(late)
    given(channelDecider, started, never)
      .when(observe(evidence(107, output(107))))
      .then()
  })
  test('may be missing for two blocks, not longer', () => {
    given(channelDecider, started, seen)
      .when(observe(evidence(102, null)))
      .then(missing)
    given(channelDecider, started, seen, missing)
      .when(observe(evidence(103, null)))
      .then()
    given(channelDecider, started, seen, missing)
      .when(observe(evidence(103, output(null))))
      .then(fact('FundingSeen', { outpoint, atHeight: 103, naming: 1 }))
    const reason = 'The funding transaction was seen and is gone: replaced, double-spent or dropped.'
    given(channelDecider, started, seen, missing)
      .when(observe(evidence(104, null)))
      .then(fact('FundingLost', { outpoint, failure: 'vanished', reason, tipHeight: 104, naming: 1 }))
  })
  test('cannot be missed by a source without a mempool', () => {
    given(channelDecider, started, seen)
      .when(observe(evidence(102, null), false))
      .then()
    given(channelDecider, started, seen)
      .when(observe(evidence(108, null), false))
      .then(
        fact('FundingLost', {
          outpoint,
          failure: 'unconfirmed',
          reason: 'The funding transaction was not confirmed by block 108.',
          tipHeight: 108,
          naming: 1,
        }),
      )
  })
  test('is noticed between blocks, and only while it is waited for', () => {
    const notice = (of: EvidenceData) => ({ type: 'NoticeFunding' as const, data: { outpoint, evidence: of } })
    given(channelDecider, started)
      .when(notice(evidence(100, output(null))))
      .then(seen)
    given(channelDecider, started, seen, confirmed)
      .when(notice(evidence(100, output(null))))
      .then()
    given(channelDecider, started, lost)
      .when(notice(evidence(100, output(null))))
      .then()
  })
})

describe('a re-organisation', () => {
  const back = (tipHeight: number, confirmedBefore: number) =>
    fact('FundingReorged', { outpoint, tipHeight, confirmedBefore, naming: 1 })
  test('brings the funding back to the mempool', () => {
    given(channelDecider, ...opened)
      .when(observe(evidence(102, output(null))))
      .then(back(102, 110))
    given(channelDecider, ...opened)
      .when(observe(evidence(100, output(null))))
      .then(back(100, 108))
  })
  test('may move it into another block, also at the same height', () => {
    const moved = fact('FundingConfirmed', { outpoint, height: 101, shortChannelId: '101x7x1', naming: 1 })
    given(channelDecider, started, seen, confirmed)
      .when(observe(evidence(101, output(101, { txIndex: 7 }))))
      .then(back(101, 109), moved)
  })
  test('may take it away altogether', () => {
    given(channelDecider, ...opened)
      .when(observe(evidence(102, null)))
      .then(back(102, 110), missing)
  })
  test('may leave fewer confirmations behind', () => {
    given(channelDecider, ...opened)
      .when(observe(evidence(102, output(101))))
      .then(two)
    given(channelDecider, ...opened, two)
      .when(observe(evidence(103, output(101))))
      .then(three)
  })
  test('of a leased channel is recorded; one that stays away ends the lease', () => {
    const during = [...opened, leased]
    given(channelDecider, ...during)
      .when(observe(evidence(104, null)))
      .then(back(104, 112))
    given(channelDecider, ...during, back(104, 112))
      .when(observe(evidence(111, null)))
      .then()
    given(channelDecider, ...during, back(104, 112))
      .when(observe(evidence(112, null)))
      .then(fact('LeaseEnded', { outpoint, early: true, closedBy: 'unknown', spentBy: null, tipHeight: 112 }))
    given(channelDecider, ...during, back(104, 112))
      .when(observe(evidence(105, output(105))))
      .then(fact('FundingConfirmed', { outpoint, height: 105, shortChannelId: '105x2x1', naming: 1 }))
  })
})

describe('a channel that is not the one that was sold', () => {
  const isWrong = (code: string, reason: string, tipHeight = 101) =>
    fact('ChannelWrong', { outpoint, code, reason, tipHeight, naming: 1 })
  test('is told from its output', () => {
    given(channelDecider, started)
      .when(observe(evidence(101, output(null, { valueSat: '999999' }))))
      .then(isWrong('value-too-small', 'The output has 999999 sat; 1000000 sat were sold.'))
    given(channelDecider, started, seen)
      .when(observe(evidence(101, output(null, { script: `0014${'ab'.repeat(20)}` }))))
      .then(isWrong('not-a-funding-output', "The output is of type p2wpkh; a channel's funding output is P2WSH or P2TR."))
  })
  test('is told from its announcement, or from what its seller signed', () => {
    const graph = { capacitySat: '1000000', nodes: [seller, seller] as [string, string], shortChannelId: '101x2x1' }
    given(channelDecider, started, seen, confirmed)
      .when(observe(evidence(101, output(101), { graph })))
      .then(isWrong('announced-nodes', 'The channel is announced between other nodes.'))
    const signed = { attestation: { ...attestation, nodeKeys: [seller, seller] as [string, string] }, attestationSigner: seller }
    given(channelDecider, started, seen, missing)
      .when(observe(evidence(101, output(101), signed)))
      .then(isWrong('attested-nodes', 'The attestation names other nodes.'))
  })
  test('is one that is spent already; a spend in the mempool decides nothing yet', () => {
    given(channelDecider, ...opened)
      .when(observe(evidence(103, output(101, spent(null)))))
      .then()
    given(channelDecider, ...opened)
      .when(observe(evidence(103, output(101, spent(103)))))
      .then(isWrong('spent', `Transaction ${'cc'.repeat(32)} in block 103 spends the output.`, 103))
  })
  test('is not told by a probe that failed', () => {
    given(channelDecider, ...opened)
      .when(observe(evidence(103, output(101), { probe: 'not-reached' })))
      .then()
  })
})

test('the peer proof is recorded once, by the graph or by a probe', () => {
  const graph = { capacitySat: '1000000', nodes: [buyer, seller] as [string, string], shortChannelId: '101x2x1' }
  for (const [more, peer] of [
    [{ graph }, 'graph'],
    [{ probe: 'reached' as const }, 'probe'],
  ] as const) {
    const proof = fact('ChannelProven', { outpoint, peer, tipHeight: 103 })
    for (const history of [opened, [...opened, leased]]) {
      given(channelDecider, ...history)
        .when(observe(evidence(103, output(101), more)))
        .then(proof)
      given(channelDecider, ...history, proof)
        .when(observe(evidence(103, output(101), more)))
        .then()
    }
  }
  given(channelDecider, ...opened)
    .when(observe(evidence(103, output(101), { probe: 'reached', otherChannelsBetween: true })))
    .then()
})

describe('the fees that were promised', () => {
  const feeCaps = { baseFeeCapSat: '1', feeRateCapPpm: 500 }
  const promised = [fact('WatchStarted', { ...named, feeCaps, fromHeight: 93, seenBefore: 106, confirmedBefore: 108 })]
  const during = [
    ...promised,
    seen,
    confirmed,
    two,
    three,
    reached,
    leased,
    fact('ChannelProven', { outpoint, peer: 'graph', tipHeight: 103 }),
  ]
  const takes = (baseFeeMsat: string, feeRatePpm: number) =>
    observe(
      evidence(103, output(101), {
        graph: {
          capacitySat: '1000000',
          nodes: [seller, buyer],
          shortChannelId: '101x2x1',
          sellerFees: { baseFeeMsat, feeRatePpm },
        },
      }),
    )
  const dearBase = fact('PromiseBroken', {
    attempt: 1,
    outpoint,
    what: 'base-fee',
    reason: 'The seller takes a base fee of 1001 msat; at most 1 sat were promised.',
    tipHeight: 103,
  })
  test('are kept', () =>
    given(channelDecider, ...during)
      .when(takes('1000', 500))
      .then())
  test('are broken by either of them, once', () => {
    given(channelDecider, ...during)
      .when(takes('1001', 500))
      .then(dearBase)
    given(channelDecider, ...during)
      .when(takes('0', 501))
      .then(
        fact('PromiseBroken', {
          attempt: 1,
          outpoint,
          what: 'fee-rate',
          reason: 'The seller takes 501 ppm for forwarding; at most 500 ppm were promised.',
          tipHeight: 103,
        }),
      )
    given(channelDecider, ...during, dearBase)
      .when(takes('9999', 9999))
      .then()
  })
  test('bind during the lease, and only where they were told', () => {
    const proven = during.filter(({ type }) => type !== 'LeaseStarted')
    given(channelDecider, ...proven)
      .when(takes('9999', 9999))
      .then()
    given(channelDecider, started, ...during.slice(1))
      .when(takes('9999', 9999))
      .then()
  })
})

describe('a lease', () => {
  test('is counted from the block that confirmed the channel', () => {
    given(channelDecider, ...opened)
      .when(lease)
      .then(leased)
    given(channelDecider, ...opened, leased)
      .when(lease)
      .then()
    given(channelDecider, ...opened, leased, ended)
      .when(lease)
      .then()
    given(channelDecider).when(lease).then()
    given(channelDecider, ...opened)
      .when({ type: 'StartLease', data: { outpoint: other, height: 103 } })
      .then()
  })
  test('begins wherever the watch stands, since the money has moved', () => {
    const fromNow = fact('LeaseStarted', { outpoint, atHeight: 103, endsAtHeight: 203 })
    for (const history of [
      [started],
      [started, seen],
      [started, seen, missing],
      [started, lost],
      [started, wrong],
      [started, stopped],
    ])
      given(channelDecider, ...history)
        .when(lease)
        .then(fromNow)
    given(channelDecider, started, fromNow)
      .when(observe(evidence(103, output(101))))
      .then(confirmed, three)
  })
  test('counts on to six confirmations, then rests', () => {
    const six = fact('ConfirmationsSeen', { outpoint, confirmations: 6, tipHeight: 106 })
    given(channelDecider, ...opened, leased)
      .when(observe(evidence(106, output(101))))
      .then(six)
    given(channelDecider, ...opened, leased, six)
      .when(observe(evidence(150, output(101))))
      .then()
  })
  test('ends with its last block, or early when the output is spent', () => {
    const six = fact('ConfirmationsSeen', { outpoint, confirmations: 6, tipHeight: 106 })
    const during = [...opened, leased, six]
    const spentBy = 'cc'.repeat(32)
    given(channelDecider, ...during)
      .when(observe(evidence(200, output(101))))
      .then()
    given(channelDecider, ...during)
      .when(observe(evidence(201, output(101))))
      .then(ended)
    given(channelDecider, ...during)
      .when(observe(evidence(150, output(101, spent(null)))))
      .then()
    given(channelDecider, ...during)
      .when(observe(evidence(150, output(101, spent(149)))))
      .then(fact('LeaseEnded', { outpoint, early: true, closedBy: 'unknown', spentBy, tipHeight: 150 }))
    given(channelDecider, ...during)
      .when(observe(evidence(205, output(101, spent(201)))))
      .then(fact('LeaseEnded', { outpoint, early: false, closedBy: null, spentBy, tipHeight: 205 }))
    given(channelDecider, ...during, ended)
      .when(observe(evidence(250, output(101, spent(201)))))
      .then()
  })
  test('shows once what turned out wrong', () => {
    const graph = { capacitySat: '1000000', nodes: [seller, seller] as [string, string], shortChannelId: '101x2x1' }
    const announced = fact('ChannelWrong', {
      outpoint,
      code: 'announced-nodes',
      reason: 'The channel is announced between other nodes.',
      tipHeight: 103,
      naming: 1,
    })
    given(channelDecider, ...opened, leased)
      .when(observe(evidence(103, output(101), { graph })))
      .then(announced)
    given(channelDecider, ...opened, leased, announced)
      .when(observe(evidence(103, output(101), { graph })))
      .then()
  })
})
