import assert from 'node:assert/strict'
import type { Decider } from '@penstock/kernel/decider.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import type { CommandBody } from '@penstock/kernel/process.ts'
import { uuidFor } from '@penstock/testkit/book-entries.ts'
import fc from 'fast-check'
import { test } from 'vitest'
import { type EnrichedReceiveCommand, receiveDecider } from './receive.decide.ts'
import { enrichment, hashFor, receiveRequest, sendRequest, START } from './samples.fixture.ts'
import { sendClaimDecider } from './send-claim.ts'
import { type EnrichedSendCommand, sendDecider } from './send.decide.ts'
import { sendProcess } from './send.process.ts'

const FINAL: ReadonlySet<string> = new Set(['COMPLETED', 'FAILED', 'EXPIRED', 'DUPLICATE'])

/** A stream that checks each decision: its facts fold, a repetition adds nothing, and a final status does not change. */
function openStream<S extends object, C extends Command, E extends Fact>(decider: Decider<S, C, E>) {
  let state = decider.initial
  const facts: E[] = []
  const decide = (body: CommandBody<C>, at: number): readonly E[] => {
    const decision = decider.decide(state, { id: 'c', at, ...body } as unknown as C) // A body with an id and a time is a command.
    return 'facts' in decision ? decision.facts : []
  }
  return {
    facts,
    read: () => state,
    handle: (body: CommandBody<C>, at = START): readonly E[] => {
      const before = state
      const decided = decide(body, at)
      state = decided.reduce(decider.evolve, state)
      facts.push(...decided)
      assert.deepEqual(decide(body, at), [], 'a repeated command adds facts')
      if ('status' in before && FINAL.has(String(before.status))) assert.deepEqual(state, before, 'a final status changes')
      return decided
    },
  }
}

const behavior = fc.constantFrom('complete', 'fail', 'expire')
const instant = fc.integer({ min: START, max: START + 3 })
const requestData = fc
  .record({ behavior, outcomeAt: instant, expiresAt: instant, isDeleted: fc.boolean(), amount: fc.constantFrom('1', '2') })
  .map(({ outcomeAt, ...rest }) => ({ ...rest, outcomeAt: rest.behavior === 'expire' ? null : outcomeAt }))
const endings = [
  instant.map((outcomeAt) => ({ type: 'RecordSandboxOutcome', data: { outcomeAt, rate: null } }) as const),
  instant.map((expiresAt) => ({ type: 'RecordExpiryReached', data: { expiresAt } }) as const),
]

const receiveCommand: fc.Arbitrary<CommandBody<EnrichedReceiveCommand>> = fc.oneof(
  requestData.map((data) => ({ type: 'RequestReceive', data: { ...receiveRequest, ...enrichment, ...data } }) as const),
  ...endings,
)
const sendCommand: fc.Arbitrary<CommandBody<EnrichedSendCommand>> = fc.oneof(
  requestData.map(
    ({ expiresAt, ...data }) =>
      ({
        type: 'RequestSend',
        data: { ...sendRequest, ...enrichment, ...data, invoice: { ...sendRequest.invoice, expiresAt } },
      }) as const,
  ),
  fc.boolean().map((granted) => ({ type: 'RecordClaim', data: { granted, ofSendId: uuidFor(9) } }) as const),
  ...endings,
)

const countOf = (facts: readonly Fact[], ...types: readonly string[]): number =>
  facts.filter(({ type }) => types.includes(type)).length

test('any sequence of commands requests a receive once and ends it once', () => {
  fc.assert(
    fc.property(fc.array(receiveCommand, { maxLength: 20 }), (commands) => {
      const { facts, handle } = openStream(receiveDecider)
      for (const command of commands) handle(command)
      assert.ok(countOf(facts, 'ReceiveRequested') <= 1)
      assert.ok(countOf(facts, 'ReceiveCompleted', 'ReceiveFailed', 'ReceiveExpired') <= 1)
    }),
    { numRuns: 1000 },
  )
})

test('any sequence of commands requests a send once and ends it once, and only a claimed hash is paid', () => {
  fc.assert(
    fc.property(fc.array(sendCommand, { maxLength: 20 }), (commands) => {
      const { facts, handle } = openStream(sendDecider)
      for (const command of commands) handle(command)
      assert.ok(countOf(facts, 'SendRequested') <= 1)
      assert.ok(countOf(facts, 'SendCompleted', 'SendFailed', 'SendExpired', 'HashTaken') <= 1)
      assert.ok(countOf(facts, 'SendCompleted') <= countOf(facts, 'HashClaimed'))
    }),
    { numRuns: 1000 },
  )
})

/** The sends of one wallet with their claims. Messages between them may come late, repeatedly and in any order. */
function openWallet() {
  const claims = new Map(['1', '2'].map((n) => [n, openStream(sendClaimDecider)] as const))
  const sends = Array.from({ length: 5 }, () => openStream(sendDecider))
  const messages: (() => void)[] = []
  const claimOf = (n: string) => {
    const claim = claims.get(n)
    assert.ok(claim)
    return claim
  }
  const numberOf = (sendId: string) => sends.findIndex((_, index) => uuidFor(index) === sendId)
  const hashes = new Map<number, string>()

  const publishClaim = (facts: ReturnType<ReturnType<typeof claimOf>['handle']>) => {
    for (const { type, data } of facts) {
      if (type === 'HashReleased') continue
      const granted = type === 'HashGranted'
      const ofSendId = granted ? data.sendId : data.ofSendId
      messages.push(() => void sends[numberOf(data.sendId)]?.handle({ type: 'RecordClaim', data: { granted, ofSendId } }))
    }
  }
  const request = (index: number, hash: string, chosen: 'complete' | 'fail' | 'expire') => {
    if (!hashes.has(index)) hashes.set(index, hash)
    const invoice = { ...sendRequest.invoice, paymentHash: hashFor(Number(hash)) }
    const outcomeAt = chosen === 'expire' ? null : START + 1000
    sends[index]?.handle({
      type: 'RequestSend',
      data: { ...sendRequest, ...enrichment, behavior: chosen, outcomeAt, invoice },
    })
  }
  /** Runs the process of a send: claims the hash, or meets the deadline. */
  const advance = (index: number) => {
    const [send, hash] = [sends[index], hashes.get(index)]
    if (!send || hash === undefined) return
    for (const step of sendProcess(send.read(), uuidFor(index))) {
      if (step.kind === 'command')
        messages.push(() => publishClaim(claimOf(hash).handle({ type: 'ClaimHash', data: { sendId: uuidFor(index) } })))
      if (step.kind !== 'deadline') continue
      const { type, data } = step.command
      const ended = send.handle({ type, data: { ...data, rate: null } } as CommandBody<EnrichedSendCommand>) // Enriched.
      if (countOf(ended, 'SendFailed', 'SendExpired') > 0)
        messages.push(() => publishClaim(claimOf(hash).handle({ type: 'ReleaseHash', data: { sendId: uuidFor(index) } })))
    }
  }
  /** Delivers a message. It stays, so that it can be delivered again. */
  const deliver = (pick: number) => messages[pick % Math.max(1, messages.length)]?.()
  const check = () => {
    for (const hash of claims.keys()) {
      const paying = sends.filter(
        (send, index) => hashes.get(index) === hash && ['PENDING', 'COMPLETED'].includes(send.read().status),
      )
      assert.ok(paying.length <= 1, 'two sends pay one invoice')
    }
  }
  const drain = () => {
    for (let delivered = 0, rounds = 0; delivered < messages.length || rounds < 4; rounds++) {
      for (const index of sends.keys()) advance(index)
      for (; delivered < messages.length; delivered++) messages[delivered]?.()
      check()
    }
  }
  return { sends, request, advance, deliver, check, drain }
}

const step = fc.oneof(
  fc.record({ kind: fc.constant('request' as const), send: fc.nat(4), hash: fc.constantFrom('1', '2'), behavior }),
  fc.record({ kind: fc.constant('advance' as const), send: fc.nat(4) }),
  fc.record({ kind: fc.constant('deliver' as const), pick: fc.nat(100) }),
)

test('no invoice is paid by two sends of a wallet, and each send ends', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { sends, request, advance, deliver, check, drain } = openWallet()
      for (const next of steps) {
        if (next.kind === 'request') request(next.send, next.hash, next.behavior)
        else if (next.kind === 'advance') advance(next.send)
        else deliver(next.pick)
        check()
      }
      drain()
      for (const send of sends) assert.ok(send.facts.length === 0 || FINAL.has(send.read().status), send.read().status)
    }),
    { numRuns: 1000 },
  )
})
