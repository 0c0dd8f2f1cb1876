import assert from 'node:assert/strict'
import type { OrderFact } from '@penstock/contracts/order.ts'
import type { Attestation } from '@penstock/contracts/shapes.ts'
import type { CommandStep } from '@penstock/kernel/process.ts'
import { attestationOf, buyerAccount, candidateOf, orderTermsOf, outpointOf, stranger } from '@penstock/testkit/order-terms.ts'
import fc from 'fast-check'
import { test } from 'vitest'
import { transition } from 'xstate'
import { attemptMachine } from './attempt.machine.ts'
import { fulfilment } from './fulfilment.ts'
import type { OrderCommand } from './order.decide.ts'
import { orderMachine } from './order.machine.ts'
import { order as decider } from './order.ts'
import { isFailed, isValid, liveAttempt, mostAttempts, type Order } from './state.ts'

type Told = Pick<OrderCommand, 'type' | 'data'>
const id = '00000000-0000-4000-8000-0000000000aa'

/** The other services, as small as they can be and as late as they like: what each of them said waits in its own line. */
function world() {
  const asked = new Map<string, CommandStep[]>()
  const lines = new Map<string, Told[]>()
  const sent = new Set<string>()
  const hold = {
    status: 'none',
    noted: null as null | { outpoint: string; attested: boolean; naming: number },
    height: 100,
    reach: 0,
    claims: new Set<string>(),
    refused: new Set<string>(),
  }
  const matches = new Map<number, string>()
  const answered = new Map<number, number>()
  const watch = { outpoint: '', naming: 0, status: 'none' }
  const owners = new Map<string, number>()

  const say = (line: string, type: OrderCommand['type'], data: object) => {
    lines.set(line, [...(lines.get(line) ?? []), { type, data } as Told]) // each caller below names a command and its data
  }
  const settlement = {
    IssueHold: (_: Record<string, never>, pick: number) => {
      if (hold.status !== 'none') return
      hold.status = pick % 9 === 8 ? 'refused' : 'issued'
      if (hold.status === 'refused') say('settlement', 'RecordHoldRefused', { reason: 'no' })
      else say('settlement', 'RecordHoldIssued', { paymentHash: 'aa'.repeat(32), invoice: 'ln', expiresAt: 1 })
    },
    CancelHold: () => {
      if (hold.status === 'none') say('settlement', 'RecordHoldRefused', { reason: 'withdrawn' })
      if (hold.status === 'none') hold.status = 'refused'
      if (hold.status === 'issued' || hold.status === 'held') cancel('released', null)
    },
    CheckReach: ({ attempt }: { attempt: number }, pick: number) => {
      if (hold.status !== 'held' || attempt <= hold.reach) return
      hold.reach = attempt
      say('settlement', 'RecordBuyerReach', {
        look: attempt,
        reached: pick % 7 !== 6,
        reason: 'silent',
        height: hold.height + (pick % 11 === 10 ? 100 : 0),
      })
    },
    NoteOutpoint: (
      {
        attempt,
        outpoint,
        attestation,
        naming,
      }: { attempt: number; outpoint: string; attestation: object | null; naming: number },
      pick: number,
    ) => {
      const attested = attestation !== null
      if (hold.noted?.outpoint === outpoint) {
        if (hold.status !== 'held' || ((!attested || hold.noted.attested) && naming <= hold.noted.naming)) return
      } else if (hold.refused.has(outpoint)) return
      else if (hold.status !== 'held' || pick % 9 === 8) {
        hold.refused.add(outpoint)
        const data = { attempt, outpoint, noted: false, attested: false, reason: 'late', tooLate: pick % 2 === 0 }
        return say('settlement', 'RecordOutpointNoted', { ...data, naming: 0 })
      }
      hold.noted = { outpoint, attested, naming }
      const noted = { attempt, outpoint, noted: true, attested, reason: null, tooLate: false, naming }
      say('settlement', 'RecordOutpointNoted', noted)
    },
    SettleHold: ({ outpoint }: { outpoint: string }) => {
      if (hold.status === 'held' && hold.noted?.outpoint === outpoint) settle(false)
    },
    GivePayoutInvoice: ({ paymentHash }: { paymentHash: string }, pick: number) =>
      say('settlement', 'RecordPayoutInvoice', { paymentHash, taken: pick % 3 !== 2, reason: null }),
  }
  const cancel = (reason: string, verdict: string | null) => {
    hold.status = 'cancelled'
    say('settlement', 'RecordHoldCancelled', { reason, verdict, sentence: reason })
  }
  const settle = (lastHeight: boolean) => {
    hold.status = 'settling'
    say('settlement', 'RecordSettling', { outpoint: hold.noted?.outpoint, confirmations: 1, lastHeight })
  }
  const matching = {
    FindSeller: ({ attempt }: { attempt: number }, pick: number) => {
      if (matches.has(attempt)) return
      const found = pick % 6 !== 5
      matches.set(attempt, found ? 'matched' : 'unmatched')
      if (found) say('matching', 'RecordMatched', { attempt, candidate: candidateOf(attempt) })
      else say('matching', 'RecordUnmatched', { attempt, reason: 'nobody' })
    },
    Rereserve: ({ attempt }: { attempt: number }, pick: number) => {
      const granted = matches.get(attempt) === 'matched' || pick % 3 !== 2
      if (granted) matches.set(attempt, 'matched')
      say('matching', 'RecordRereserved', { attempt, granted, reason: null })
    },
    ReleaseMatch: ({ attempt, question }: { attempt: number; question: number }) => {
      if (matches.get(attempt) === 'used' || question <= (answered.get(attempt) ?? 0)) return
      answered.set(attempt, question)
      matches.set(attempt, 'released')
      say('matching', 'RecordTold', { what: 'match-released', key: `${attempt}`, question })
    },
    UseMatch: ({ attempt }: { attempt: number }) => {
      if (matches.get(attempt) !== 'matched' && matches.get(attempt) !== 'released') return
      matches.set(attempt, 'used')
      say('matching', 'RecordTold', { what: 'match-used', key: `${attempt}` })
    },
  }
  const watcher = {
    WatchOutpoint: ({ outpoint, naming }: { outpoint: string; naming: number }) => {
      if ((watch.outpoint === outpoint && naming <= watch.naming) || watch.status === 'stopped') return
      Object.assign(watch, { outpoint, naming, status: 'watching' })
      say('watcher', 'RecordTold', { what: 'watch-started', key: outpoint, naming })
    },
    KeepAttestation: ({ outpoint, naming }: { outpoint: string; naming: number }) =>
      say('watcher', 'RecordTold', { what: 'attestation-kept', key: outpoint, naming }),
    StartLease: ({ outpoint }: { outpoint: string }) => {
      if (watch.outpoint !== outpoint) return
      watch.status = 'leased'
      say('watcher', 'RecordTold', { what: 'lease-started', key: outpoint })
    },
    StopWatch: () => {
      if (watch.status === 'over' || watch.status === 'stopped') return
      watch.status = 'stopped'
      say('watcher', 'RecordTold', { what: 'watch-stopped', key: '1' })
    },
  }
  const claim = ({ attempt }: { attempt: number }, outpoint: string, pick: number) => {
    const granted = (owners.get(outpoint) ?? attempt) === attempt && pick % 9 !== 8
    if (hold.claims.has(`${attempt} ${outpoint}`)) return // whoever was answered once is not answered again
    hold.claims.add(`${attempt} ${outpoint}`)
    if (granted) owners.set(outpoint, attempt)
    say('claims', 'RecordOutpointClaim', { attempt, outpoint, granted })
  }
  const handlers: Record<string, Record<string, (data: never, pick: number) => void>> = {
    settlement,
    match: matching,
    channel: watcher,
  }

  const held = () => ({ expiryHeight: 250, heldAtHeight: hold.height, receivedMsat: '3000000' })

  /** What happens by itself in the other services. */
  const events: (() => void)[] = [
    () => {
      if (hold.status !== 'issued') return
      hold.status = 'held'
      say('settlement', 'RecordHoldHeld', held())
    },
    () => {
      if (hold.status !== 'issued') return
      say('settlement', 'RecordHoldExpiring', { reason: 'too late' })
      hold.status = 'expiring'
    },
    () => {
      if (hold.status === 'settling') {
        hold.status = 'settled'
        say('settlement', 'RecordHoldSettled', { settledAt: 5 })
      }
    },
    () => {
      if (hold.status === 'held' && hold.noted) settle(true)
    },
    () => {
      const verdict = hold.noted ? ['wrong', 'unconfirmed', 'unproven'][hold.height++ % 3] : 'unnamed'
      if (hold.status === 'held') cancel('last-height', verdict ?? null)
    },
    () => {
      if (hold.status === 'held' || hold.status === 'issued' || hold.status === 'settling') cancel('node', null)
    },
    ...(
      [
        ['RecordFundingSeen', {}],
        ['RecordFundingConfirmed', { height: 120, channelId: '120x1x0' }],
        ['RecordConfirmationsReached', { confirmations: 3 }],
        ['RecordFundingReorged', {}],
        ['RecordFundingLost', { failure: 'vanished', reason: 'gone' }],
        ['RecordChannelWrong', { reason: 'too small', blamed: true }],
        ['RecordLeaseEnded', { early: false, closedBy: null }],
      ] as const
    ).map(([type, data]) => () => {
      if (watch.status === 'none' || watch.status === 'stopped' || watch.status === 'over') return
      if ((watch.status === 'leased') !== (type === 'RecordLeaseEnded')) return
      if (type === 'RecordFundingLost' || type === 'RecordChannelWrong' || type === 'RecordLeaseEnded') watch.status = 'over'
      const { outpoint, naming } = watch
      say('watcher', type, { outpoint, ...data, ...(type !== 'RecordLeaseEnded' && { naming }) })
    }),
    () => {
      if (hold.status !== 'expiring') return
      // a payment that made it to the node while the invoice was being cancelled
      if (hold.height++ % 2 === 0) say('settlement', 'RecordHoldHeld', held())
      cancel('expired', null)
    },
  ]

  return {
    hold,
    events,
    /** The chain goes on more often than the money is in trouble. */
    happen: (pick: number) =>
      events[
        pick % 32 < 6
          ? pick % 32
          : pick % 32 < 8
            ? ([0, 13][pick % 2] ?? 0)
            : 6 + ((pick >> 5) % 8 > 5 ? (pick >> 8) % 7 : (pick >> 5) % 3)
      ]?.(),
    /** A process's command goes out once. */
    send: (step: CommandStep) => {
      const key = `${step.step} ${step.attempt}`
      if (sent.has(key)) return
      sent.add(key)
      const stream = `${step.category}-${step.id}`
      asked.set(stream, [...(asked.get(stream) ?? []), step])
    },
    inboxes: () => [...asked.keys()].filter((key) => asked.get(key)?.length),
    deliver: (stream: string, pick: number) => {
      const step = asked.get(stream)?.shift()
      assert.ok(step)
      if (step.category === 'outpoint') return claim(step.command.data as { attempt: number }, step.id, pick)
      const handler = handlers[step.category]?.[step.command.type]
      assert.ok(handler, `nobody understands ${step.command.type}`)
      handler(step.command.data as never, pick)
    },
    outboxes: () => [...lines.keys()].filter((key) => lines.get(key)?.length),
    hear: (line: string): Told => {
      const told = lines.get(line)?.shift()
      assert.ok(told)
      return told
    },
  }
}

/** Signed once: a walk names the same outpoints again and again. */
const signatures = new Map<string, Attestation>()
function attested(outpoint: string, digit: number): Attestation {
  const key = `${digit} ${outpoint}`
  const signed = signatures.get(key) ?? attestationOf(outpoint, digit)
  signatures.set(key, signed)
  return signed
}

/** What people ask for: mostly the seller whose turn it is, sometimes anybody. */
const callers = (order: Order, pick: number): Told => {
  const live = order.status === 'NONE' ? undefined : liveAttempt(order)?.number
  const digit = live !== undefined && pick % 4 > 0 ? live : ((pick >> 2) % 4) + 1
  const by = digit === 4 ? stranger : candidateOf(digit).sellerAccountId
  const outpoint = outpointOf(digit + 4 * ((pick >> 3) % 2))
  const signed = attested(outpoint, digit)
  const attestation = pick % 10 < 2 ? signed : null
  const wishes: readonly Told[] = [
    { type: 'NameOutpoint', data: { by, outpoint, attestation } },
    { type: 'NameOutpoint', data: { by, outpoint, attestation: signed } },
    { type: 'Cancel', data: { by, reason: 'I cannot' } },
    { type: 'Cancel', data: { by, reason: 'UNABLE_TO_CONNECT_TO_NODE' } },
    { type: 'NameOutpoint', data: { by, outpoint, attestation } },
    { type: 'Cancel', data: { by: buyerAccount, reason: 'I will not' } },
    { type: 'CloseByOperator', data: { by: 'ops', reason: 'asked to' } },
    { type: 'Withdraw', data: { reason: 'too slow' } },
    { type: 'Reject', data: { by, record: null } },
  ]
  return wishes[(pick >> 5) % 24] ?? { type: 'NameOutpoint', data: { by, outpoint, attestation } }
}

/** Walks as the tape says, then lets everything come to its end. @returns what was recorded */
function walk(tape: readonly number[], manual: boolean): { readonly facts: readonly OrderFact[]; readonly state: Order } {
  const others = world()
  const facts: OrderFact[] = []
  let state: Order = decider.initial
  let count = 0

  const decide = (told: Told) => {
    const command = { id: `c${++count}`, at: count, ...told } as OrderCommand // a walk makes none but whole commands
    const before = state
    const decision = decider.decide(state, command)
    if ('refused' in decision) return
    for (const fact of decision.facts) apply(fact)
    const again = decider.decide(state, command)
    assert.ok(
      'refused' in again || again.facts.length === 0,
      `${command.type} twice: ${JSON.stringify([before, decision, again])}`,
    )
    for (const step of fulfilment(state, id)) if (step.kind === 'command') others.send(step)
  }
  const apply = (fact: OrderFact) => {
    const from = state
    state = decider.evolve(state, fact)
    facts.push(fact)
    const [next] = transition(orderMachine, orderMachine.resolveState({ value: from.status, context: {} }), { type: fact.type })
    assert.equal(next.value, state.status)
    check(state)
  }
  const check = (order: Order) => {
    if (order.status === 'NONE') return
    assert.ok(order.attempts.filter(({ status }) => !['failed', 'replaced'].includes(status)).length <= 1, 'one seller at a time')
    assert.ok(order.attempts.length <= mostAttempts(order))
    if (isFailed(order)) {
      // An invoice that the order never showed to anybody may come late; it is cancelled then.
      if (order.hold !== 'asked') assert.ok(isReleased(others.hold.status), `ended with a hold ${others.hold.status}`)
      assert.equal(liveAttempt(order), undefined)
    }
    if (isValid(order)) assert.equal(others.hold.status, 'settled')
  }
  const lapse = () => {
    const due = fulfilment(state, id).flatMap((step) => (step.kind === 'deadline' ? [step.command as Told] : []))[0]
    if (due) decide(due)
  }
  const step = (pick: number, rest: number) => {
    const inboxes = others.inboxes()
    const outboxes = others.outboxes()
    const at = pick % (inboxes.length + outboxes.length || 1)
    const inbox = inboxes[at]
    const outbox = outboxes[at - inboxes.length]
    if (inbox !== undefined) others.deliver(inbox, rest)
    else if (outbox !== undefined) decide(others.hear(outbox))
  }
  const settleDown = () => {
    while (others.inboxes().length + others.outboxes().length > 0) step(count, 0)
  }

  decide({ type: 'PlaceOrder', data: orderTermsOf(manual) })
  for (const pick of tape) {
    const kind = pick % 16
    const rest = pick >> 4
    if (kind < 9) step(rest, rest >> 3)
    else if (kind < 11) decide(callers(state, rest))
    else if (kind < 12) lapse()
    else others.happen(rest)
  }
  settleDown()
  for (const event of [2, 4, 1, 13, 2, 12]) {
    others.events[event]?.()
    settleDown()
    lapse()
    settleDown()
  }
  assert.equal(isFailed(state), isReleased(others.hold.status), `${state.status}, and the hold is ${others.hold.status}`)
  return { facts, state }
}

const isReleased = (hold: string): boolean => ['none', 'refused', 'cancelled'].includes(hold)

const tapes = fc.array(fc.nat(0xffff), { maxLength: 120 })

test('whatever happens in whichever order: one seller at a time, an end only after the money, and nobody left untold', () => {
  const ends = new Map<string, number>()
  fc.assert(
    fc.property(tapes, fc.boolean(), (tape, manual) => {
      const { state } = walk(tape, manual)
      assert.ok(isFailed(state) || isValid(state), `it ended ${JSON.stringify(state)}`)
      assert.deepEqual(fulfilment(state, id), [], 'an order that has ended asks for nothing')
      ends.set(state.status, (ends.get(state.status) ?? 0) + 1)
    }),
    { numRuns: 3000 },
  )
  assert.ok(ends.size >= 6, `the walks reach many ends: ${JSON.stringify([...ends])}`)
})

test('a history folds to the same state wherever it is read from', () => {
  fc.assert(
    fc.property(tapes, (tape) => {
      const { facts, state } = walk(tape, false)
      // facts are what a store keeps: JSON
      const read = JSON.parse(JSON.stringify(facts)) as readonly OrderFact[]
      assert.deepEqual(read.reduce(decider.evolve, decider.initial), state)
    }),
    { numRuns: 200 },
  )
})

test('every edge of the attempt machine is one of its statuses', () => {
  for (const status of Object.keys(attemptMachine.states))
    assert.match(status, /^(accepted|opening|named|opened|failed|replaced)$/)
})
