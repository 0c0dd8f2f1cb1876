import assert from 'node:assert/strict'
import type { OrderFact } from '@penstock/contracts/order.ts'
import type { AttestationData } from '@penstock/contracts/shapes.ts'
import type { CommandStep, ProcessStep } from '@penstock/kernel/process.ts'
import { isSentUntilHandled } from '@penstock/runtime/service.ts'
import {
  createAttestation,
  buyerAccountId,
  createCandidate,
  createOrderTerms,
  createOutpoint,
  strangerAccountId,
} from '@penstock/testkit/order-terms.ts'
import { transition } from 'xstate'
import { fulfilment } from './fulfilment.ts'
import { notificationTypes } from './notifications.ts'
import type { EnrichedOrderCommand } from './order.decide.ts'
import { orderMachine } from './order.machine.ts'
import { orderDecider as decider } from './order.ts'
import { isFailed, isValid, findLiveAttempt, maxAttemptsOf, type Order } from './state.ts'

type IncomingCommand = Pick<EnrichedOrderCommand, 'type' | 'data'>
const walkOrderId = '00000000-0000-4000-8000-0000000000aa'

/** Minimal models of the other services. The reports of each service wait in a queue until the walk delivers them. */
function simulateServices() {
  const commandQueues = new Map<string, CommandStep[]>()
  const reportQueues = new Map<string, IncomingCommand[]>()
  const sent = new Set<string>()
  const handled = new Set<string>()
  const hold = {
    status: 'none',
    registered: null as null | { outpoint: string; attested: boolean; outpointNumber: number },
    height: 100,
    reach: 0,
    claims: new Set<string>(),
    refused: new Set<string>(),
  }
  const matches = new Map<number, string>()
  const answered = new Map<number, number>()
  const watch = { outpoint: '', outpointNumber: 0, status: 'none' }
  const owners = new Map<string, number>()

  const sendToOrder = (line: string, type: EnrichedOrderCommand['type'], data: object) => {
    reportQueues.set(line, [...(reportQueues.get(line) ?? []), { type, data } as IncomingCommand]) // each caller below passes a command type with its data
  }
  const settlement = {
    IssueHold: (_: Record<string, never>, pick: number) => {
      if (hold.status !== 'none') return
      hold.status = pick % 9 === 8 ? 'refused' : 'issued'
      if (hold.status === 'refused') sendToOrder('settlement', 'RecordHoldRefused', { reason: 'no' })
      else sendToOrder('settlement', 'RecordHoldIssued', { paymentHash: 'aa'.repeat(32), invoice: 'ln', expiresAt: 1 })
    },
    CancelHold: () => {
      if (hold.status === 'none') sendToOrder('settlement', 'RecordHoldRefused', { reason: 'withdrawn' })
      if (hold.status === 'none') hold.status = 'refused'
      if (hold.status === 'issued' || hold.status === 'held') cancel('released', null)
    },
    CheckReach: ({ attempt }: { attempt: number }, pick: number) => {
      if (hold.status !== 'held' || attempt <= hold.reach) return
      hold.reach = attempt
      sendToOrder('settlement', 'RecordBuyerReach', {
        check: attempt,
        reached: pick % 7 !== 6,
        reason: 'silent',
        height: hold.height + (pick % 11 === 10 ? 100 : 0),
      })
    },
    RegisterOutpoint: (
      {
        attempt,
        outpoint,
        attestation,
        outpointNumber,
      }: { attempt: number; outpoint: string; attestation: object | null; outpointNumber: number },
      pick: number,
    ) => {
      const attested = attestation !== null
      if (hold.registered?.outpoint === outpoint) {
        if (
          hold.status !== 'held' ||
          ((!attested || hold.registered.attested) && outpointNumber <= hold.registered.outpointNumber)
        )
          return
      } else if (hold.refused.has(outpoint)) return
      else if (hold.status !== 'held' || pick % 9 === 8) {
        hold.refused.add(outpoint)
        const data = { attempt, outpoint, registered: false, attested: false, reason: 'late', tooLate: pick % 2 === 0 }
        return sendToOrder('settlement', 'RecordOutpointRegistered', { ...data, outpointNumber: 0 })
      }
      hold.registered = { outpoint, attested, outpointNumber }
      const registered = { attempt, outpoint, registered: true, attested, reason: null, tooLate: false, outpointNumber }
      sendToOrder('settlement', 'RecordOutpointRegistered', registered)
    },
    SettleHold: ({ outpoint }: { outpoint: string }) => {
      if (hold.status === 'held' && hold.registered?.outpoint === outpoint) settle(false)
    },
    SubmitPayoutInvoice: ({ paymentHash }: { paymentHash: string }, pick: number) =>
      sendToOrder('settlement', 'RecordPayoutInvoice', { paymentHash, accepted: pick % 3 !== 2, reason: null }),
  }
  const cancel = (reason: string, verdict: string | null) => {
    hold.status = 'cancelled'
    sendToOrder('settlement', 'RecordHoldCancelled', { reason, verdict, sentence: reason })
  }
  const settle = (lastHeight: boolean) => {
    hold.status = 'settling'
    sendToOrder('settlement', 'RecordSettling', { outpoint: hold.registered?.outpoint, confirmations: 1, lastHeight })
  }
  const matching = {
    FindSeller: ({ attempt }: { attempt: number }, pick: number) => {
      if (matches.has(attempt)) return
      const found = pick % 6 !== 5
      matches.set(attempt, found ? 'matched' : 'unmatched')
      if (found) sendToOrder('matching', 'RecordMatched', { attempt, candidate: createCandidate(attempt) })
      else sendToOrder('matching', 'RecordUnmatched', { attempt, reason: 'nobody' })
    },
    RenewReservation: ({ attempt }: { attempt: number }, pick: number) => {
      const granted = matches.get(attempt) === 'matched' || pick % 3 !== 2
      if (granted) matches.set(attempt, 'matched')
      sendToOrder('matching', 'RecordReservationRenewal', { attempt, granted, reason: null })
    },
    ReleaseMatch: ({ attempt, requestNumber }: { attempt: number; requestNumber: number }) => {
      if (matches.get(attempt) === 'used' || requestNumber <= (answered.get(attempt) ?? 0)) return
      answered.set(attempt, requestNumber)
      matches.set(attempt, 'released')
    },
    UseMatch: ({ attempt }: { attempt: number }) => {
      if (matches.get(attempt) !== 'matched' && matches.get(attempt) !== 'released') return
      matches.set(attempt, 'used')
    },
  }
  const watcher = {
    WatchOutpoint: ({ outpoint, outpointNumber }: { outpoint: string; outpointNumber: number }) => {
      if ((watch.outpoint === outpoint && outpointNumber <= watch.outpointNumber) || watch.status === 'stopped') return
      Object.assign(watch, { outpoint, outpointNumber, status: 'watching' })
    },
    KeepAttestation: () => undefined,
    StartLease: ({ outpoint }: { outpoint: string }) => {
      if (watch.outpoint !== outpoint) return
      watch.status = 'leased'
    },
    StopWatch: () => {
      if (watch.status === 'over' || watch.status === 'stopped') return
      watch.status = 'stopped'
    },
  }
  const claim = ({ attempt }: { attempt: number }, outpoint: string, pick: number) => {
    const granted = (owners.get(outpoint) ?? attempt) === attempt && pick % 9 !== 8
    if (hold.claims.has(`${attempt} ${outpoint}`)) return // a claim is answered once
    hold.claims.add(`${attempt} ${outpoint}`)
    if (granted) owners.set(outpoint, attempt)
    sendToOrder('claims', 'RecordOutpointClaim', { attempt, outpoint, granted })
  }
  const handlers: Record<string, Record<string, (data: never, pick: number) => void>> = {
    settlement,
    match: matching,
    channel: watcher,
  }

  const held = () => ({ expiryHeight: 250, heldAtHeight: hold.height, receivedMsat: '3000000' })

  /** Events in the other services that no command causes. */
  const events: (() => void)[] = [
    () => {
      if (hold.status !== 'issued') return
      hold.status = 'held'
      sendToOrder('settlement', 'RecordHoldHeld', held())
    },
    () => {
      if (hold.status !== 'issued') return
      sendToOrder('settlement', 'RecordHoldExpiring', { reason: 'too late' })
      hold.status = 'expiring'
    },
    () => {
      if (hold.status === 'settling') {
        hold.status = 'settled'
        sendToOrder('settlement', 'RecordHoldSettled', { settledAt: 5 })
      }
    },
    () => {
      if (hold.status === 'held' && hold.registered) settle(true)
    },
    () => {
      const verdict = hold.registered ? ['wrong', 'unconfirmed', 'unproven'][hold.height++ % 3] : 'unnamed'
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
        ['RecordChannelInvalid', { reason: 'too small', blamed: true }],
        ['RecordLeaseEnded', { early: false, closedBy: null }],
      ] as const
    ).map(([type, data]) => () => {
      if (watch.status === 'none' || watch.status === 'stopped' || watch.status === 'over') return
      if ((watch.status === 'leased') !== (type === 'RecordLeaseEnded')) return
      if (type === 'RecordFundingLost' || type === 'RecordChannelInvalid' || type === 'RecordLeaseEnded') watch.status = 'over'
      const { outpoint, outpointNumber } = watch
      sendToOrder('watcher', type, { outpoint, ...data, ...(type !== 'RecordLeaseEnded' && { outpointNumber }) })
    }),
    () => {
      if (hold.status !== 'expiring') return
      // The payment arrived at the node while the invoice was being cancelled.
      if (hold.height++ % 2 === 0) sendToOrder('settlement', 'RecordHoldHeld', held())
      cancel('expired', null)
    },
  ]

  return {
    hold,
    events,
    /** Picks chain events more often than failures of the hold. */
    runEvent: (pick: number) =>
      events[
        pick % 32 < 6
          ? pick % 32
          : pick % 32 < 8
            ? ([0, 13][pick % 2] ?? 0)
            : 6 + ((pick >> 5) % 8 > 5 ? (pick >> 8) % 7 : (pick >> 5) % 3)
      ]?.(),
    /** Sends each command of the process once. */
    send: (step: CommandStep) => {
      const key = keyOf(step)
      if (sent.has(key)) return
      sent.add(key)
      const stream = `${step.category}-${step.id}`
      commandQueues.set(stream, [...(commandQueues.get(stream) ?? []), step])
    },
    /** Whether the process has nothing to do for the step, because its receiver has handled the command. */
    isHandled: (step: ProcessStep) =>
      step.kind === 'command' && isSentUntilHandled(notificationTypes, step) && handled.has(keyOf(step)),
    inboxes: () => [...commandQueues.keys()].filter((key) => commandQueues.get(key)?.length),
    deliverTo: (stream: string, pick: number) => {
      const step = commandQueues.get(stream)?.shift()
      assert.ok(step)
      handled.add(keyOf(step))
      if (step.category === 'outpoint') return claim(step.command.data as { attempt: number }, step.id, pick)
      const handler = handlers[step.category]?.[step.command.type]
      assert.ok(handler, `no handler for ${step.command.type}`)
      handler(step.command.data as never, pick)
    },
    outboxes: () => [...reportQueues.keys()].filter((key) => reportQueues.get(key)?.length),
    takeOutbox: (line: string): IncomingCommand => {
      const request = reportQueues.get(line)?.shift()
      assert.ok(request)
      return request
    },
  }
}

/** Caches signatures, because a walk submits the same outpoints many times. */
const signatures = new Map<string, AttestationData>()
function signOnce(outpoint: string, digit: number): AttestationData {
  const key = `${digit} ${outpoint}`
  const signed = signatures.get(key) ?? createAttestation(outpoint, digit)
  signatures.set(key, signed)
  return signed
}

/** A caller's command: mostly from the seller of the live attempt, sometimes from another account. */
const pickCallerCommand = (order: Order, pick: number): IncomingCommand => {
  const live = order.status === 'NONE' ? undefined : findLiveAttempt(order)?.number
  const digit = live !== undefined && pick % 4 > 0 ? live : ((pick >> 2) % 4) + 1
  const by = digit === 4 ? strangerAccountId : createCandidate(digit).sellerAccountId
  const outpoint = createOutpoint(digit + 4 * ((pick >> 3) % 2))
  const signed = signOnce(outpoint, digit)
  const attestation = pick % 10 < 2 ? signed : null
  const requests: readonly IncomingCommand[] = [
    { type: 'SubmitOutpoint', data: { by, outpoint, attestation } },
    { type: 'SubmitOutpoint', data: { by, outpoint, attestation: signed } },
    { type: 'Cancel', data: { by, reason: 'I cannot' } },
    { type: 'Cancel', data: { by, reason: 'UNABLE_TO_CONNECT_TO_NODE' } },
    { type: 'SubmitOutpoint', data: { by, outpoint, attestation } },
    { type: 'Cancel', data: { by: buyerAccountId, reason: 'I will not' } },
    { type: 'CloseByOperator', data: { by: 'ops', reason: 'asked to' } },
    { type: 'Withdraw', data: { reason: 'too slow' } },
    { type: 'Reject', data: { by, record: null } },
  ]
  return requests[(pick >> 5) % 24] ?? { type: 'SubmitOutpoint', data: { by, outpoint, attestation } }
}

/** Performs the picked actions, then delivers all messages until the order has ended. @returns its facts, state and next steps */
export function runWalk(
  picks: readonly number[],
  manual: boolean,
): { readonly facts: readonly OrderFact[]; readonly state: Order; readonly steps: readonly ProcessStep[] } {
  const services = simulateServices()
  const facts: OrderFact[] = []
  let state: Order = decider.initial
  let count = 0

  const decide = (request: IncomingCommand) => {
    const command = { id: `c${++count}`, at: count, ...request } as EnrichedOrderCommand // a walk makes only complete commands
    const before = state
    const decision = decider.decide(state, command)
    if ('refused' in decision) return
    for (const fact of decision.facts) apply(fact)
    const repeated = decider.decide(state, command)
    assert.ok(
      'refused' in repeated || repeated.facts.length === 0,
      `a repeated ${command.type} adds facts: ${JSON.stringify([before, decision, repeated])}`,
    )
    for (const step of fulfilment(state, walkOrderId)) if (step.kind === 'command') services.send(step)
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
    assert.ok(order.attempts.filter(({ status }) => !['failed', 'replaced'].includes(status)).length <= 1, 'one live attempt')
    assert.ok(order.attempts.length <= maxAttemptsOf(order))
    if (isFailed(order)) {
      // A requested invoice may be issued after the end; it is cancelled then.
      if (order.hold !== 'asked') assert.ok(isReleased(services.hold.status), `ended with a hold ${services.hold.status}`)
      assert.equal(findLiveAttempt(order), undefined)
    }
    if (isValid(order)) {
      assert.equal(services.hold.status, 'settled')
      assert.equal(findLiveAttempt(order)?.number, order.outpoint?.attempt, 'the attempt of the sale stays live')
    }
  }
  const lapse = () => {
    const due = fulfilment(state, walkOrderId).flatMap((step) =>
      step.kind === 'deadline' ? [step.command as IncomingCommand] : [],
    )[0]
    if (due) decide(due)
  }
  const step = (pick: number, rest: number) => {
    const inboxes = services.inboxes()
    const outboxes = services.outboxes()
    const at = pick % (inboxes.length + outboxes.length || 1)
    const inbox = inboxes[at]
    const outbox = outboxes[at - inboxes.length]
    if (inbox !== undefined) services.deliverTo(inbox, rest)
    else if (outbox !== undefined) decide(services.takeOutbox(outbox))
  }
  const drain = () => {
    while (services.inboxes().length + services.outboxes().length > 0) step(count, 0)
  }

  decide({ type: 'PlaceOrder', data: { ...createOrderTerms(manual), ...(!manual && { invoiceBefore: 1000 }) } })
  for (const pick of picks) {
    const kind = pick % 16
    const rest = pick >> 4
    if (kind < 9) step(rest, rest >> 3)
    else if (kind < 11) decide(pickCallerCommand(state, rest))
    else if (kind < 12) lapse()
    else services.runEvent(rest)
  }
  drain()
  for (const event of [2, 4, 1, 13, 2, 12]) {
    services.events[event]?.()
    drain()
    lapse()
    drain()
  }
  assert.equal(isFailed(state), isReleased(services.hold.status), `${state.status}, and the hold is ${services.hold.status}`)
  return { facts, state, steps: fulfilment(state, walkOrderId).filter((one) => !services.isHandled(one)) }
}

const keyOf = ({ step, attempt }: CommandStep): string => `${step} ${attempt}`
const isReleased = (hold: string): boolean => ['none', 'refused', 'cancelled'].includes(hold)
