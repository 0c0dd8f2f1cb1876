import { nth, type Scene, type Tools } from './scene-tools.ts'

const FRESH = 'the seller names a fresh channel'
const NOWHERE = 'the seller names what is nowhere'

/** A second outpoint is named before anybody has heard of the first. */
export function secondThoughts({ on, does, pick, maybe, opens, dear }: Tools): Scene {
  return {
    cues: [
      ...opens(pick(FRESH, FRESH, FRESH, 'the seller names a small channel', NOWHERE)),
      on(
        'order OutpointNamed',
        does('order hears the watch late', { at: 0, much: [3000, 8000] }),
        does(pick(FRESH, FRESH, NOWHERE), { at: [0, 2000], much: 0 }),
        ...maybe(does('blocks are mined', { at: [0, 500], much: [1, 12] })),
        ...maybe(dear()),
      ),
      on('channel FundingSeen', ...maybe(does('the funding is forgotten', { at: [0, 300], much: [500, 1600] }))),
      on('order FundingConfirmed', ...maybe(does('settlement is asked late', { at: 0, much: [1500, 4000] }))),
      nth(on('order OutpointNamed', ...maybe(does('the seller goes back to an outpoint', { much: 0 }))), 2),
      on('channel FundingConfirmed', ...maybe(does('a re-org', { at: [0, 600], much: [1, 3] }))),
    ],
  }
}

/** A second outpoint is named, and what becomes of it is told when the first has gone far, or has all its confirmations. */
export function overtaken({ on, does, pick, maybe, opens }: Tools): Scene {
  const isNoted = pick(true, false)
  return {
    cues: [
      ...opens(),
      on(
        'order OutpointNamed',
        does('order hears the watch late', { at: 0, much: [400, 1600] }),
        does(pick(FRESH, FRESH, NOWHERE), { at: [0, 60], much: 0 }),
      ),
      nth(
        on(
          isNoted ? 'order OutpointClaimed' : 'order OutpointOffered',
          does(isNoted ? 'order hears settlement late' : 'order hears of claims late', { at: 0, much: [800, 4500] }),
        ),
        2,
      ),
      // Nothing is settled yet for the first.
      on(
        'order FundingConfirmed',
        does('settlement is asked late', { at: 0, much: [2000, 5000] }),
        ...maybe(does('order hears the watch late', { at: 0, much: [2000, 5000] })),
      ),
    ],
  }
}

/** The seller goes back to an outpoint that the chain has moved meanwhile, and the order hears of all of it at once. */
export const thereAndBack = ({ on, does, pick, opens }: Tools): Scene => ({
  cues: [
    ...opens(),
    on('order OutpointNamed', does('order hears the watch late', { at: 0, much: [5000, 8000] })),
    on('channel FundingConfirmed', does(pick(FRESH, NOWHERE), { at: [0, 60], much: 0 })),
    nth(on('channel WatchStarted', does('a re-org', { at: [0, 20], much: [3, 6] })), 2),
    nth(on('order OutpointNamed', does('the seller goes back to an outpoint', { at: [10, 60], much: 0 })), 2),
  ],
})

/** A seller goes back to an outpoint, and the watches are of an earlier release: they do not say of which naming they tell. */
export const toldByTheOlder = (tools: Tools): Scene => ({
  ...thereAndBack(tools),
  old: ['channel-watcher.1', 'channel-watcher.2'],
})

/** A funding is given up, and its order, which has not heard of that, names another. */
export const lostUnheard = ({ on, does, pick, opens }: Tools): Scene => ({
  cues: [
    ...opens(NOWHERE),
    on(
      'order OutpointNamed',
      does('order hears the watch late', { at: 0, much: [4000, 8000] }),
      does('blocks are mined', { at: [50, 400], much: 12 }),
    ),
    on('channel FundingLost', does(pick(FRESH, FRESH, 'the seller names a small channel'), { at: [0, 300], much: 0 })),
  ],
})

/** A seller names what it has invented, again and again, until no more is taken; blocks come meanwhile, or the window ends. */
export const inventions = ({ on, does, pick, maybe, opens }: Tools): Scene => ({
  cues: [
    ...opens(NOWHERE),
    ...[1, 2, 3, 4, 5].map((time) => nth(on('order OutpointNamed', does(NOWHERE, { at: [20, 200], much: 0 })), time)),
    on('order OutpointNamed', ...maybe(does('blocks are mined', { at: [0, 20], much: pick(4, 5, 7) }))),
    nth(on('order OutpointNamed', ...maybe(does('the seller goes back to an outpoint', { at: [300, 600], much: 0 }))), 2),
  ],
})

/**
 * The channel of a seller turns out to be wrong while the order waits for the claim of its next outpoint, which was named
 * before anybody had heard of the first.
 */
export function wrongMeanwhile({ on, does, pick, maybe, opens, dear }: Tools): Scene {
  const isSmall = pick(true, false, false, false)
  const wrongAt = pick('order FundingSeen', 'order FundingConfirmed', 'order ChannelOpened')
  return {
    busyMs: 14_000,
    cues: [
      ...opens(isSmall ? 'the seller names a small channel' : FRESH),
      on(
        'order OutpointNamed',
        does('order hears the watch late', { at: 0, much: [120, 600] }),
        does('order hears of claims late', { at: 0, much: [5000, 9000] }),
        does(pick(FRESH, FRESH, NOWHERE), { at: [0, 30], much: 0 }),
        ...(wrongAt === 'order FundingSeen' ? [dear()] : []),
      ),
      on(
        wrongAt,
        does('settlement is asked late', { at: 0, much: [3000, 6000] }),
        does(pick('the channel is closed', 'the seller attests falsely'), { at: [0, 30], much: 1 }),
        ...maybe(does('blocks are mined', { at: [40, 400], much: [1, 2] })),
      ),
    ],
  }
}
