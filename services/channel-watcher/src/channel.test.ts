import type { ChannelFact } from '@penstock/contracts/channel.ts'
import { fold } from '@penstock/kernel/decider.ts'
import { toCanonicalJson } from '@penstock/runtime/commands/canonical-json.ts'
import { compileLifecycle } from '@penstock/runtime/lifecycle/lifecycle.ts'
import type { Aggregate } from '@penstock/runtime/service.ts'
import {
  sellerAttestation,
  fundingConfirmed,
  leaseEnded,
  createEvidence,
  channelFact,
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
  watchStarted,
  watchStopped,
  twoConfirmations,
  watchCommand,
  channelInvalid,
} from '@penstock/testkit/channel-facts.ts'
import { given } from '@penstock/testkit/given.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { channelDecider } from './channel.decide.ts'
import { channelMachine } from './channel.machine.ts'
import { channelProcess } from './channel.process.ts'
import { watchOf } from './channel.ts'
import type { WatcherPorts } from './effects.ts'
import { channelWatcherService } from './service.ts'

describe('an outpoint to watch', () => {
  test('is watched with the heights of its deadlines', () => {
    given(channelDecider).when(watchCommand()).then(watchStarted)
    given(channelDecider)
      .when(watchCommand({ attestation: sellerAttestation }))
      .then(
        watchStarted,
        channelFact('AttestationKept', { outpoint: channelOutpoint, attestation: sellerAttestation, outpointNumber: 1 }),
      )
    given(channelDecider, watchStarted).when(watchCommand()).then()
  })
  test('has more time to be seen without a mempool source', () => {
    const blind = channelFact('WatchStarted', { ...acceptedOutpoint, fromHeight: 93, seenBefore: 136, confirmedBefore: 108 })
    given(channelDecider)
      .when(watchCommand({ seesMempool: false }))
      .then(blind)
    given(channelDecider)
      .when(watchCommand({ seesMempool: false, fundingSeenBlocks: 40 }))
      .then({ ...blind, data: { ...blind.data, seenBefore: 140 } } as typeof blind) // the same fact with a later deadline
  })
  test('is replaced by a later outpoint of the order in every status before a lease or a stop', () => {
    const again = channelFact('WatchStarted', {
      ...acceptedOutpoint,
      outpoint: otherOutpoint,
      outpointNumber: 2,
      fromHeight: 93,
      seenBefore: 108,
      confirmedBefore: 110,
    })
    // The funding of the first outpoint was not seen, so its deadline stays in force.
    given(channelDecider, watchStarted)
      .when(watchCommand({ outpoint: otherOutpoint, height: 102, outpointNumber: 2 }))
      .then({ ...again, data: { ...again.data, seenBefore: 106 } } as typeof again) // the same fact with an earlier deadline
    for (const history of [
      [watchStarted, fundingSeen],
      openedChannelFacts,
      [watchStarted, fundingLost],
      [watchStarted, fundingSeen, channelInvalid],
      [watchStarted, fundingSeen, fundingMissing],
    ])
      given(channelDecider, ...history)
        .when(watchCommand({ outpoint: otherOutpoint, height: 102, outpointNumber: 2 }))
        .then(again)
    for (const history of [
      [...openedChannelFacts, leaseStarted],
      [...openedChannelFacts, leaseStarted, leaseEnded],
      [watchStarted, watchStopped],
    ])
      given(channelDecider, ...history)
        .when(watchCommand({ outpoint: otherOutpoint, outpointNumber: 2 }))
        .then()
  })
  test('is not replaced by an earlier outpoint that arrives late', () => {
    const second = channelFact('WatchStarted', { ...watchStarted.data, outpoint: otherOutpoint, outpointNumber: 2 } as never)
    given(channelDecider, second).when(watchCommand()).then()
    // The order returned to the first outpoint, and the submission in between arrives late.
    const third = { ...watchStarted, data: { ...watchStarted.data, outpointNumber: 3 } } as typeof watchStarted // the same fact, submitted again
    for (const history of [[watchStarted], openedChannelFacts, [watchStarted, fundingLost]])
      given(channelDecider, ...history)
        .when(watchCommand({ outpointNumber: 3 }))
        .then(third)
    given(channelDecider, third)
      .when(watchCommand({ outpoint: otherOutpoint, outpointNumber: 2 }))
      .then()
    // A version that did not count submissions sends 0, and is accepted.
    expect(given(channelDecider, second).when(watchCommand({ outpointNumber: 0 })).decision).toMatchObject({
      facts: [{ type: 'WatchStarted', data: { outpoint: channelOutpoint, outpointNumber: 0 } }],
    })
  })
  test('is the latest submission after deliveries in any order and with repetitions', () => {
    const submissions = fc.array(fc.constantFrom(channelOutpoint, otherOutpoint, `${'dd'.repeat(32)}:3`), {
      minLength: 1,
      maxLength: 6,
    })
    const deliveries = submissions.chain((made) => {
      const all = made.map((outpoint, index) => ({ outpointNumber: index + 1, outpoint }))
      return fc
        .array(fc.constantFrom(...all), { maxLength: 6 })
        .chain((more) => fc.shuffledSubarray([...all, ...more], { minLength: all.length + more.length }))
    })
    fc.assert(
      fc.property(deliveries, (reported) => {
        const facts = reported.reduce((before: ChannelFact[], one) => {
          const { decision } = given(channelDecider, ...before).when(watchCommand(one))
          return 'facts' in decision ? [...before, ...decision.facts] : before
        }, [])
        const newest = reported.reduce((one, next) => (next.outpointNumber > one.outpointNumber ? next : one))
        expect(watchOf(fold(channelDecider, facts))).toMatchObject(newest)
      }),
    )
  })
  test('is not judged by an observation of another outpoint', () => {
    given(channelDecider, watchStarted)
      .when({
        type: 'Observe',
        data: { outpoint: otherOutpoint, evidence: createEvidence(101, createOutput(101)), seesMempool: true },
      })
      .then()
    given(channelDecider)
      .when(observeCommand(createEvidence(101, createOutput(101))))
      .then()
  })
  test('is reported with the number of its submission', () => {
    const again = channelFact('WatchStarted', {
      ...acceptedOutpoint,
      outpointNumber: 3,
      fromHeight: 93,
      seenBefore: 106,
      confirmedBefore: 108,
    })
    const reported = (height: number, shown: Parameters<typeof createEvidence>[1]) => {
      const { decision } = given(channelDecider, watchStarted, fundingSeen, again).when(
        observeCommand(createEvidence(height, shown)),
      )
      const news = 'facts' in decision ? decision.facts : []
      return news.flatMap(({ type, data }) => ('outpointNumber' in data ? [`${type} ${data.outpointNumber}`] : []))
    }
    expect(reported(103, createOutput(101))).toEqual(['FundingSeen 3', 'FundingConfirmed 3', 'ConfirmationsReached 3'])
    expect(reported(106, null)).toEqual(['FundingLost 3'])
    expect(reported(103, createOutput(101, { valueSat: '1' }))).toEqual(['ChannelInvalid 3'])
  })
  test('gets no attestation of an earlier or a later submission', () => {
    const again = channelFact('WatchStarted', {
      ...acceptedOutpoint,
      outpointNumber: 2,
      fromHeight: 93,
      seenBefore: 106,
      confirmedBefore: 108,
    })
    const keep = (outpointNumber: number) => ({
      type: 'KeepAttestation' as const,
      data: { outpoint: channelOutpoint, attestation: sellerAttestation, outpointNumber },
    })
    for (const outpointNumber of [1, 3])
      given(channelDecider, watchStarted, again).when(keep(outpointNumber)).refuses('NOT_WATCHED')
    for (const outpointNumber of [0, 2])
      given(channelDecider, watchStarted, again)
        .when(keep(outpointNumber))
        .then(channelFact('AttestationKept', { outpoint: channelOutpoint, attestation: sellerAttestation, outpointNumber: 2 }))
    // A lease accepts the number of the order's last submission, which may differ from the number of its watch.
    given(channelDecider, ...openedChannelFacts, leaseStarted)
      .when(keep(3))
      .then(channelFact('AttestationKept', { outpoint: channelOutpoint, attestation: sellerAttestation, outpointNumber: 3 }))
  })
  test('gets an attestation once', () => {
    const kept = channelFact('AttestationKept', { outpoint: channelOutpoint, attestation: sellerAttestation, outpointNumber: 1 })
    const keep = {
      type: 'KeepAttestation' as const,
      data: { outpoint: channelOutpoint, attestation: sellerAttestation, outpointNumber: 1 },
    }
    for (const history of [
      [watchStarted],
      [watchStarted, fundingSeen],
      [watchStarted, fundingSeen, fundingMissing],
      [watchStarted, fundingSeen, fundingConfirmed],
      openedChannelFacts,
      [...openedChannelFacts, leaseStarted],
      [watchStarted, fundingLost],
      [watchStarted, channelInvalid],
      [watchStarted, watchStopped],
    ]) {
      given(channelDecider, ...history)
        .when(keep)
        .then(kept)
      given(channelDecider, ...history, kept)
        .when(keep)
        .then()
    }
    given(channelDecider, ...openedChannelFacts, leaseStarted, leaseEnded)
      .when(keep)
      .then()
    given(channelDecider).when(keep).refuses('NOT_WATCHED')
    given(channelDecider, watchStarted)
      .when({ type: 'KeepAttestation', data: { outpoint: otherOutpoint, attestation: sellerAttestation, outpointNumber: 1 } })
      .refuses('NOT_WATCHED')
  })
})

test('StopWatch stops the watch and is acknowledged once', () => {
  const stop = { type: 'StopWatch' as const, data: { reason: 'The order is closed.' } }
  const alive = [
    [],
    [watchStarted],
    [watchStarted, fundingSeen],
    [watchStarted, fundingSeen, fundingMissing],
    [watchStarted, fundingSeen, fundingConfirmed],
    openedChannelFacts,
    [...openedChannelFacts, leaseStarted],
  ]
  for (const history of [...alive, [watchStarted, fundingLost], [watchStarted, channelInvalid]])
    given(channelDecider, ...history)
      .when(stop)
      .then(watchStopped)
  for (const history of [[watchStopped], [watchStarted, watchStopped], [...openedChannelFacts, leaseStarted, leaseEnded]])
    given(channelDecider, ...history)
      .when(stop)
      .then()
  given(channelDecider, watchStarted).when({ type: 'Recheck', data: {} }).then()
})

test('an open watch has one deadline, and a finished watch has no step', () => {
  const due = (...history: ChannelFact[]) =>
    channelProcess(fold(channelDecider, history), 'o').flatMap((next) => (next.kind === 'deadline' ? [next.due] : []))
  expect(due(watchStarted)).toEqual([{ height: 106 }])
  expect(due(watchStarted, fundingSeen)).toEqual([{ height: 108 }])
  expect(due(watchStarted, fundingSeen, fundingMissing)).toEqual([{ height: 104 }])
  expect(due(watchStarted, fundingSeen, fundingConfirmed)).toEqual([{ height: 103 }])
  expect(due(...openedChannelFacts)).toEqual([{ height: 387 }])
  expect(due(...openedChannelFacts, leaseStarted)).toEqual([{ height: 201 }])
  for (const history of [
    [],
    [watchStopped],
    [watchStarted, fundingLost],
    [watchStarted, channelInvalid],
    [...openedChannelFacts, leaseStarted, leaseEnded],
  ])
    expect(channelProcess(fold(channelDecider, history), 'o')).toEqual([])
  const searchesMempool = (...history: ChannelFact[]) =>
    channelProcess(fold(channelDecider, history), 'o').some((next) => next.kind === 'effect')
  expect([
    searchesMempool(watchStarted),
    searchesMempool(watchStarted, fundingSeen),
    searchesMempool(watchStarted, fundingSeen, fundingMissing),
    searchesMempool(...openedChannelFacts),
  ]).toEqual([true, false, true, false])
})

test('the state hashes of older versions stay the same', () => {
  const [{ hashed }] = channelWatcherService.aggregates as [Aggregate<WatcherPorts>]
  const state = fold(channelDecider, [watchStarted, fundingSeen])
  const before = JSON.parse(
    toCanonicalJson(state)
      .replace(/"outpointNumber":\d+,?/, '')
      .replace(/"wasConfirmed":false,?/, '')
      .replace(',}', '}'),
  ) as unknown
  expect(toCanonicalJson(hashed.projections[1]?.(state))).toBe(toCanonicalJson(before))
  expect(toCanonicalJson(hashed.projections[2]?.(state))).toBe(toCanonicalJson(state).replace(/"wasConfirmed":false,?/, ''))
  expect(toCanonicalJson(hashed.projections[3]?.(state))).toBe(toCanonicalJson(state))
  expect(hashed.projections[1]?.({ status: 'NONE' })).toEqual({ status: 'NONE' })
})

test('a fact that cannot follow the status throws a Bug', () => {
  expect(() => fold(channelDecider, [fundingSeen])).toThrow('FundingSeen cannot follow NONE')
  expect(() => fold(channelDecider, [watchStarted, confirmationsReached])).toThrow('cannot follow')
})

test('the fold takes every transition of the machine', () => {
  const samples: Record<string, ChannelFact[]> = {
    NONE: [],
    WATCHING: [watchStarted],
    SEEN: [watchStarted, fundingSeen],
    MISSING: [watchStarted, fundingSeen, fundingMissing],
    CONFIRMED: [watchStarted, fundingSeen, fundingConfirmed],
    REACHED: openedChannelFacts,
    LEASED: [...openedChannelFacts, leaseStarted],
    LOST: [watchStarted, fundingLost],
    WRONG: [watchStarted, channelInvalid],
    STOPPED: [watchStarted, watchStopped],
    ENDED: [...openedChannelFacts, leaseStarted, leaseEnded],
  }
  const facts = [
    watchStarted,
    fundingSeen,
    fundingConfirmed,
    twoConfirmations,
    confirmationsReached,
    fundingMissing,
    leaseStarted,
    fundingLost,
    watchStopped,
    channelInvalid,
    leaseEnded,
    channelFact('AttestationKept', { outpoint: channelOutpoint, attestation: sellerAttestation, outpointNumber: 1 }),
    channelFact('FundingReorged', { outpoint: channelOutpoint, tipHeight: 104, confirmedBefore: 112, outpointNumber: 1 }),
    channelFact('ChannelProven', { outpoint: channelOutpoint, peer: 'graph', tipHeight: 104 }),
    channelFact('PromiseBroken', { attempt: 1, outpoint: channelOutpoint, what: 'base-fee', reason: 'x', tipHeight: 104 }),
  ]
  for (const [from, type, to] of compileLifecycle(channelMachine).edges) {
    const next = facts.filter((one) => one.type === type).slice(0, 1)
    expect([...next.map((one) => one.type), fold(channelDecider, [...(samples[from] ?? []), ...next]).status]).toEqual([type, to])
  }
})
