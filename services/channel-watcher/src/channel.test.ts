import type { ChannelFact } from '@penstock/contracts/channel.ts'
import { fold } from '@penstock/kernel/decider.ts'
import { canonical } from '@penstock/runtime/canonical.ts'
import { compile } from '@penstock/runtime/lifecycle.ts'
import type { Aggregate } from '@penstock/runtime/service.ts'
import {
  attestation,
  confirmed,
  ended,
  evidence,
  fact,
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
  started,
  stopped,
  two,
  watch,
  wrong,
} from '@penstock/testkit/channel-story.ts'
import { given } from '@penstock/testkit/given.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { channelDecider } from './channel.decide.ts'
import { channelMachine } from './channel.machine.ts'
import { channelProcess } from './channel.process.ts'
import { watchOf } from './channel.ts'
import type { WatcherPorts } from './effects.ts'
import { channelWatcher } from './service.ts'

describe('an outpoint to watch', () => {
  test('begins with the heights at which it is too late', () => {
    given(channelDecider).when(watch()).then(started)
    given(channelDecider)
      .when(watch({ attestation }))
      .then(started, fact('AttestationKept', { outpoint, attestation, naming: 1 }))
    given(channelDecider, started).when(watch()).then()
  })
  test('has more time to be seen where only blocks show it', () => {
    const blind = fact('WatchStarted', { ...named, fromHeight: 93, seenBefore: 136, confirmedBefore: 108 })
    given(channelDecider)
      .when(watch({ seesMempool: false }))
      .then(blind)
    given(channelDecider)
      .when(watch({ seesMempool: false, fundingSeenBlocks: 40 }))
      .then({ ...blind, data: { ...blind.data, seenBefore: 140 } } as typeof blind) // the same fact, later
  })
  test('is replaced by the one that the order named since, whatever was seen of the first', () => {
    const again = fact('WatchStarted', {
      ...named,
      outpoint: other,
      naming: 2,
      fromHeight: 93,
      seenBefore: 108,
      confirmedBefore: 110,
    })
    // Nothing was seen of the first one, so its window stays in force.
    given(channelDecider, started)
      .when(watch({ outpoint: other, height: 102, naming: 2 }))
      .then({ ...again, data: { ...again.data, seenBefore: 106 } } as typeof again) // the same fact, sooner
    for (const history of [[started, seen], opened, [started, lost], [started, seen, wrong], [started, seen, missing]])
      given(channelDecider, ...history)
        .when(watch({ outpoint: other, height: 102, naming: 2 }))
        .then(again)
    for (const history of [
      [...opened, leased],
      [...opened, leased, ended],
      [started, stopped],
    ])
      given(channelDecider, ...history)
        .when(watch({ outpoint: other, naming: 2 }))
        .then()
  })
  test('is not replaced by one that was named before it and comes late', () => {
    const second = fact('WatchStarted', { ...started.data, outpoint: other, naming: 2 } as never)
    given(channelDecider, second).when(watch()).then()
    // Back at the first, and the one in between comes late.
    const third = { ...started, data: { ...started.data, naming: 3 } } as typeof started // the same fact, named anew
    for (const history of [[started], opened, [started, lost]])
      given(channelDecider, ...history)
        .when(watch({ naming: 3 }))
        .then(third)
    given(channelDecider, third)
      .when(watch({ outpoint: other, naming: 2 }))
      .then()
    // A version that did not count is believed.
    expect(given(channelDecider, second).when(watch({ naming: 0 })).decision).toMatchObject({
      facts: [{ type: 'WatchStarted', data: { outpoint, naming: 0 } }],
    })
  })
  test('is the newest in the end, in whatever order and however often they come', () => {
    const namings = fc.array(fc.constantFrom(outpoint, other, `${'dd'.repeat(32)}:3`), { minLength: 1, maxLength: 6 })
    const deliveries = namings.chain((made) => {
      const all = made.map((named_, index) => ({ naming: index + 1, outpoint: named_ }))
      return fc
        .array(fc.constantFrom(...all), { maxLength: 6 })
        .chain((more) => fc.shuffledSubarray([...all, ...more], { minLength: all.length + more.length }))
    })
    fc.assert(
      fc.property(deliveries, (told) => {
        const facts = told.reduce((before: ChannelFact[], one) => {
          const { decision } = given(channelDecider, ...before).when(watch(one))
          return 'facts' in decision ? [...before, ...decision.facts] : before
        }, [])
        const newest = told.reduce((one, next) => (next.naming > one.naming ? next : one))
        expect(watchOf(fold(channelDecider, facts))).toMatchObject(newest)
      }),
    )
  })
  test('is not judged by what was seen of another', () => {
    given(channelDecider, started)
      .when({ type: 'Observe', data: { outpoint: other, evidence: evidence(101, output(101)), seesMempool: true } })
      .then()
    given(channelDecider)
      .when(observe(evidence(101, output(101))))
      .then()
  })
  test('says of which naming it is, whatever it tells', () => {
    const again = fact('WatchStarted', { ...named, naming: 3, fromHeight: 93, seenBefore: 106, confirmedBefore: 108 })
    const told = (height: number, shown: Parameters<typeof evidence>[1]) => {
      const { decision } = given(channelDecider, started, seen, again).when(observe(evidence(height, shown)))
      const news = 'facts' in decision ? decision.facts : []
      return news.flatMap(({ type, data }) => ('naming' in data ? [`${type} ${data.naming}`] : []))
    }
    expect(told(103, output(101))).toEqual(['FundingSeen 3', 'FundingConfirmed 3', 'ConfirmationsReached 3'])
    expect(told(106, null)).toEqual(['FundingLost 3'])
    expect(told(103, output(101, { valueSat: '1' }))).toEqual(['ChannelWrong 3'])
  })
  test('keeps no attestation of another naming: it is late, or before its watch', () => {
    const again = fact('WatchStarted', { ...named, naming: 2, fromHeight: 93, seenBefore: 106, confirmedBefore: 108 })
    const keep = (naming: number) => ({ type: 'KeepAttestation' as const, data: { outpoint, attestation, naming } })
    for (const naming of [1, 3]) given(channelDecider, started, again).when(keep(naming)).then()
    for (const naming of [0, 2])
      given(channelDecider, started, again)
        .when(keep(naming))
        .then(fact('AttestationKept', { outpoint, attestation, naming: 2 }))
    // A lease keeps the number of its watch, and the order waits for the one that it named last.
    given(channelDecider, ...opened, leased)
      .when(keep(3))
      .then(fact('AttestationKept', { outpoint, attestation, naming: 3 }))
  })
  test('keeps an attestation once', () => {
    const kept = fact('AttestationKept', { outpoint, attestation, naming: 1 })
    const keep = { type: 'KeepAttestation' as const, data: { outpoint, attestation, naming: 1 } }
    for (const history of [
      [started],
      [started, seen],
      [started, seen, missing],
      [started, seen, confirmed],
      opened,
      [...opened, leased],
      [started, lost],
      [started, wrong],
      [started, stopped],
    ]) {
      given(channelDecider, ...history)
        .when(keep)
        .then(kept)
      given(channelDecider, ...history, kept)
        .when(keep)
        .then()
    }
    for (const history of [[], [...opened, leased, ended]])
      given(channelDecider, ...history)
        .when(keep)
        .then()
    given(channelDecider, started)
      .when({ type: 'KeepAttestation', data: { outpoint: other, attestation, naming: 1 } })
      .then()
  })
})

test('an order that lets go stops the watch and is told so, once', () => {
  const stop = { type: 'StopWatch' as const, data: { reason: 'The order is closed.' } }
  const alive = [
    [],
    [started],
    [started, seen],
    [started, seen, missing],
    [started, seen, confirmed],
    opened,
    [...opened, leased],
  ]
  for (const history of [...alive, [started, lost], [started, wrong]])
    given(channelDecider, ...history)
      .when(stop)
      .then(stopped)
  for (const history of [[stopped], [started, stopped], [...opened, leased, ended]])
    given(channelDecider, ...history)
      .when(stop)
      .then()
  given(channelDecider, started).when({ type: 'Recheck', data: {} }).then()
})

test('a watch that goes on has one marker, a finished one has nothing', () => {
  const due = (...history: ChannelFact[]) =>
    channelProcess(fold(channelDecider, history), 'o').flatMap((next) => (next.kind === 'deadline' ? [next.due] : []))
  expect(due(started)).toEqual([{ height: 106 }])
  expect(due(started, seen)).toEqual([{ height: 108 }])
  expect(due(started, seen, missing)).toEqual([{ height: 104 }])
  expect(due(started, seen, confirmed)).toEqual([{ height: 103 }])
  expect(due(...opened)).toEqual([{ height: 387 }])
  expect(due(...opened, leased)).toEqual([{ height: 201 }])
  for (const history of [[], [stopped], [started, lost], [started, wrong], [...opened, leased, ended]])
    expect(channelProcess(fold(channelDecider, history), 'o')).toEqual([])
  const looks = (...history: ChannelFact[]) =>
    channelProcess(fold(channelDecider, history), 'o').some((next) => next.kind === 'effect')
  expect([looks(started), looks(started, seen), looks(started, seen, missing), looks(...opened)]).toEqual([
    true,
    false,
    true,
    false,
  ])
})

test('a state from before namings were counted has the hash that it had', () => {
  const [{ hashed }] = channelWatcher.aggregates as [Aggregate<WatcherPorts>]
  const state = fold(channelDecider, [started, seen])
  const before = JSON.parse(
    canonical(state)
      .replace(/"naming":\d+,?/, '')
      .replace(/"wasConfirmed":false,?/, '')
      .replace(',}', '}'),
  ) as unknown
  expect(canonical(hashed.of[1]?.(state))).toBe(canonical(before))
  expect(canonical(hashed.of[2]?.(state))).toBe(canonical(state).replace(/"wasConfirmed":false,?/, ''))
  expect(canonical(hashed.of[3]?.(state))).toBe(canonical(state))
  expect(hashed.of[1]?.({ status: 'NONE' })).toEqual({ status: 'NONE' })
})

test('a fact that cannot follow is a bug', () => {
  expect(() => fold(channelDecider, [seen])).toThrow('FundingSeen cannot follow NONE')
  expect(() => fold(channelDecider, [started, reached])).toThrow('cannot follow')
})

test('every edge of the machine is one that the fold knows', () => {
  const samples: Record<string, ChannelFact[]> = {
    NONE: [],
    WATCHING: [started],
    SEEN: [started, seen],
    MISSING: [started, seen, missing],
    CONFIRMED: [started, seen, confirmed],
    REACHED: opened,
    LEASED: [...opened, leased],
    LOST: [started, lost],
    WRONG: [started, wrong],
    STOPPED: [started, stopped],
    ENDED: [...opened, leased, ended],
  }
  const facts = [
    started,
    seen,
    confirmed,
    two,
    reached,
    missing,
    leased,
    lost,
    stopped,
    wrong,
    ended,
    fact('AttestationKept', { outpoint, attestation, naming: 1 }),
    fact('FundingReorged', { outpoint, tipHeight: 104, confirmedBefore: 112, naming: 1 }),
    fact('ChannelProven', { outpoint, peer: 'graph', tipHeight: 104 }),
    fact('PromiseBroken', { attempt: 1, outpoint, what: 'base-fee', reason: 'x', tipHeight: 104 }),
  ]
  for (const [from, type, to] of compile(channelMachine).edges) {
    const next = facts.filter((one) => one.type === type).slice(0, 1)
    expect([...next.map((one) => one.type), fold(channelDecider, [...(samples[from] ?? []), ...next]).status]).toEqual([type, to])
  }
})
