/** What an order hears of other streams: the type of the fact, and what of it matters. */
export type Told = string

type Before = { readonly has: (told: string) => boolean; readonly hasAny: (type: string) => boolean }

/** What has to hold of all that came before, for this to be told. What is not named may come at any time. */
const rules: Readonly<Record<string, (before: Before, of: string) => boolean>> = {
  HoldIssued: ({ has }) => !has('HoldIssued'),
  HoldHeld: ({ has }) => has('HoldIssued') && !has('HoldHeld'),
  HoldRefused: ({ has }) => !has('HoldIssued') && !has('HoldRefused'),
  CancelRequested: ({ has, hasAny }) => has('HoldIssued') && !has('HoldHeld') && !hasAny('HoldCancelled'),
  HoldCancelled: ({ has }, reason) => !has('HoldSettled') && (reason !== 'expired' || has('CancelRequested expired')),
  OutpointNoted: ({ has, hasAny }) => has('HoldHeld') && !hasAny('HoldCancelled'),
  SettleRequested: ({ has, hasAny }, outpoint) =>
    has(`OutpointNoted ${outpoint}`) && !hasAny('SettleRequested') && !hasAny('HoldCancelled'),
  HoldSettled: ({ has, hasAny }) => hasAny('SettleRequested') && !has('HoldSettled') && !hasAny('HoldCancelled'),
  Matched: ({ has }, attempt) => !has(`Matched ${attempt}`) && !has(`Unmatched ${attempt}`),
  Unmatched: ({ has }, attempt) => !has(`Matched ${attempt}`) && !has(`Unmatched ${attempt}`),
}
const OF_CHANNEL = new Set([
  'FundingSeen',
  'FundingConfirmed',
  'ConfirmationsReached',
  'FundingReorged',
  'FundingLost',
  'ChannelWrong',
  'LeaseEnded',
])

/** Whether a stream that has told this can tell that next: held against the deciders of those streams by a test. */
export function mayFollow(heard: readonly Told[], next: Told): boolean {
  const [type = '', of = ''] = next.split(' ')
  const before: Before = {
    has: (told) => heard.includes(told),
    hasAny: (one) => heard.some((told) => told.split(' ')[0] === one),
  }
  if (OF_CHANNEL.has(type)) return !before.has('LeaseEnded')
  return rules[type]?.(before, of) ?? true
}
