import type { Scene, Tools } from './scene-tools.ts'

/** An attestation comes when the watch, or the whole order, has gone further than its seller knows. */
export function attestedLate({ on, does, pick, maybe, opens, dear }: Tools): Scene {
  const attests = pick('the seller attests', 'the seller attests falsely', 'the seller attests falsely')
  const when = pick(
    'order OutpointOffered',
    'order OutpointNamed',
    'channel FundingSeen',
    'channel FundingMissing',
    'channel FundingLost',
    'channel FundingLost',
    'channel ChannelWrong',
    'channel ChannelWrong',
    'channel ConfirmationsReached',
    'settlement SettleAsked',
    'settlement SettleAsked',
  )
  const first =
    when === 'channel ChannelWrong'
      ? 'the seller names a small channel'
      : when === 'channel FundingLost'
        ? 'the seller names what is nowhere'
        : 'the seller names a fresh channel'
  const isUnheard = when.startsWith('channel') || pick(true, false)
  return {
    cues: [
      ...opens(first),
      on(
        'order OutpointNamed',
        ...(isUnheard && when !== 'channel ConfirmationsReached'
          ? [does('order hears the watch late', { at: 0, much: [4000, 9000] })]
          : []),
        ...(when === 'channel FundingLost' ? [does('blocks are mined', { at: [100, 500], much: 12 })] : []),
        ...maybe(dear()),
      ),
      on(
        when,
        ...(when === 'settlement SettleAsked'
          ? [
              does('order hears settlement late', { at: 0, much: [800, 2500] }),
              does('order hears the watch late', { at: 0, much: [1500, 4000] }),
              does('settlement is asked late', { at: 0, much: [1500, 4000] }),
            ]
          : []),
        ...(when === 'order OutpointOffered' ? [does('settlement is asked late', { at: 0, much: [200, 900] })] : []),
        does(attests, { at: [0, 60] }),
      ),
      on(
        'channel FundingSeen',
        ...(when === 'channel FundingMissing' ? [does('the funding is forgotten', { at: [0, 300], much: [700, 1600] })] : []),
      ),
    ],
  }
}

/** A replica of order stands still with the attestation in hand, and the other one goes on without it. */
export const heldBack = ({ on, does, pick, opens }: Tools): Scene => ({
  cues: [
    ...opens(),
    on(
      pick('order OutpointNamed', 'order FundingSeen', 'order FundingConfirmed'),
      does(pick('the seller attests', 'the seller attests falsely'), { at: [0, 200] }),
    ),
    on(
      'order AttestationGiven',
      does('a replica of order stands still', { at: 0, much: [1500, 5000] }),
      does('the node cancels the hold', { at: [0, 20] }),
    ),
  ],
})
