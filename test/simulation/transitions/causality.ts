/** A fact of another stream that an order receives, as `<type> <subject>`. The subject is an outpoint, an attempt or a reason. */
export type ReceivedFact = string

type FactHistory = { readonly has: (fact: string) => boolean; readonly hasAny: (type: string) => boolean }

/** For each type of fact, the condition on the facts that the order received before. A fact without a rule may always arrive. */
const precedenceRules: Readonly<Record<string, (history: FactHistory, subject: string) => boolean>> = {
  HoldIssued: ({ has }) => !has('HoldIssued'),
  HoldHeld: ({ has }) => has('HoldIssued') && !has('HoldHeld'),
  HoldRefused: ({ has }) => !has('HoldIssued') && !has('HoldRefused'),
  CancelRequested: ({ has, hasAny }) => has('HoldIssued') && !has('HoldHeld') && !hasAny('HoldCancelled'),
  HoldCancelled: ({ has }, reason) => !has('HoldSettled') && (reason !== 'expired' || has('CancelRequested expired')),
  OutpointRegistered: ({ has, hasAny }) => has('HoldHeld') && !hasAny('HoldCancelled'),
  SettlementStarted: ({ has, hasAny }, outpoint) =>
    has(`OutpointRegistered ${outpoint}`) && !hasAny('SettlementStarted') && !hasAny('HoldCancelled'),
  HoldSettled: ({ has, hasAny }) => hasAny('SettlementStarted') && !has('HoldSettled') && !hasAny('HoldCancelled'),
  Matched: ({ has }, attempt) => !has(`Matched ${attempt}`) && !has(`Unmatched ${attempt}`),
  Unmatched: ({ has }, attempt) => !has(`Matched ${attempt}`) && !has(`Unmatched ${attempt}`),
}
const CHANNEL_FACTS = new Set([
  'FundingSeen',
  'FundingConfirmed',
  'ConfirmationsReached',
  'FundingReorged',
  'FundingLost',
  'ChannelInvalid',
  'LeaseEnded',
])

/** Whether a fact may follow the facts that the order has received. A test compares the rules with the deciders of services. */
export function mayFollow(heard: readonly ReceivedFact[], next: ReceivedFact): boolean {
  const [type = '', subject = ''] = next.split(' ')
  const history: FactHistory = {
    has: (fact) => heard.includes(fact),
    hasAny: (factType) => heard.some((fact) => fact.split(' ')[0] === factType),
  }
  if (CHANNEL_FACTS.has(type)) return !history.has('LeaseEnded')
  return precedenceRules[type]?.(history, subject) ?? true
}
