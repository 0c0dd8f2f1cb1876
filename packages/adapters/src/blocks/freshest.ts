import { Fault } from '@penstock/kernel/result.ts'
import { type Chain, type ChainTip, MempoolUnseen, type Output } from '@penstock/ports/chain.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { within } from '@penstock/ports/within.ts'
import { changing } from '../shared/changing.ts'
import { sharedAnswer, sharedAnswers } from '../shared/shared-answer.ts'

/** Who does not tell its height for so long is away. */
const TIP_MS = 4000
/** A source may answer one call and hang at another; whoever wants to know an output waits for the node as well. */
const OUTPUT_MS = 6000
/** Two nodes hear of a block at different moments: for so long it is waited for, so that no block is read twice. */
const CATCH_UP_MS = 2000
const LOOK_AGAIN_MS = 200
const POLL_MS = 1000

/**
 * The chain as a source with a mempool shows it, and as the Lightning node itself does where that source is behind the
 * node or away: the heights of the node are those that bind its payments, and nothing may be decided by an older block.
 */
export function freshestChain(source: Chain, node: Chain, clock: Clock): Chain {
  // Every look at an output begins with both, and on a new block all holds and all watches are looked at together.
  const tipOf = (chain: Chain): Promise<ChainTip> => within(clock, TIP_MS, chain.tip())
  const tipOfSource = sharedAnswer(() => tipOf(source))
  // As it told last: where it says nothing now, it has those blocks all the same, and others were told of them.
  let nodeHeight = -1
  const tipOfNode = sharedAnswer(async () => {
    const tip = await tipOf(node)
    nodeHeight = tip.height
    return tip
  })
  let wasBehind = false

  /** @returns whether the source has every block that the node told of; one that never told any leaves no other word */
  async function isAbreast(): Promise<boolean> {
    const patient = clock.monotonicMs() + (wasBehind ? 0 : CATCH_UP_MS)
    for (;;) {
      const [here] = await Promise.all([orNothing(tipOfSource()), orNothing(tipOfNode())])
      wasBehind = (here?.height ?? -1) < nodeHeight
      if (!wasBehind) return true
      if (!here || clock.monotonicMs() >= patient) return false
      await clock.sleep(LOOK_AGAIN_MS)
    }
  }

  async function tip(): Promise<ChainTip> {
    const [here, there] = await Promise.allSettled([tipOfSource(), tipOfNode()])
    if (here.status === 'rejected' && there.status === 'rejected') throw here.reason
    if (here.status === 'rejected') return (there as PromiseFulfilledResult<ChainTip>).value // the other was not rejected
    if (there.status === 'fulfilled') return there.value.height > here.value.height ? there.value : here.value
    if (here.value.height >= nodeHeight) return here.value
    throw new Fault(`the bitcoin node is at ${here.value.height}, and lnd told ${nodeHeight} before it went silent`)
  }

  /** @param asked what the source shows; undefined where it shows nothing in time */
  async function byNode(outpoint: string, fromHeight: number, asked: Promise<Shown | undefined>): Promise<Output | undefined> {
    const [inBlocks, shown] = await Promise.all([node.output(outpoint, fromHeight), asked])
    // What an older block says of spending is in the node's blocks too.
    if (inBlocks) return { ...inBlocks, spentBy: inBlocks.spentBy ?? inMempool(shown?.it?.spentBy) }
    // Below that height the node was not asked.
    const { height } = shown?.it ?? {}
    if (shown?.it && (height === null || (height ?? fromHeight) < fromHeight)) return shown.it
    throw new MempoolUnseen(
      `no block has ${outpoint}; whether it waits is not known, since the bitcoin node is behind lnd or away`,
    )
  }

  async function output(outpoint: string, fromHeight: number): Promise<Output | undefined> {
    const isBelieved = await isAbreast()
    const found = source.output(outpoint, fromHeight).then((it) => ({ it }))
    const asked = orNothing(within(clock, OUTPUT_MS, found))
    const shown = isBelieved ? await asked : undefined
    return shown ? shown.it : byNode(outpoint, fromHeight, asked)
  }
  // Whoever watches a channel and whoever pays for it ask for the same on each block.
  const outputs = sharedAnswers((name) => {
    const [fromHeight = '', outpoint = ''] = name.split(' ')
    return output(outpoint, Number(fromHeight))
  })

  return {
    sees: source.sees,
    tip,
    output: (outpoint, fromHeight) => outputs(`${fromHeight} ${outpoint}`),
    // lnd sees no mempool, so there is nobody else to ask.
    enteredMempoolAt: (outpoint) => within(clock, OUTPUT_MS, source.enteredMempoolAt(outpoint)),
    // The node's own stream of blocks is the first to know.
    tips: (signal) =>
      changing({ read: tip, listen: (knock, ended) => listen(node, knock, ended), pollMs: POLL_MS, clock, signal }),
    feeRate: (targetBlocks) => source.feeRate(targetBlocks),
  }
}

type Shown = { readonly it: Output | undefined }

function listen(node: Chain, knock: () => void, ended: () => void): () => void {
  const over = new AbortController()
  const follow = async (): Promise<void> => {
    const tips = node.tips(over.signal)[Symbol.asyncIterator]()
    while ((await tips.next()).done !== true) knock()
  }
  // Whoever hung up listens to another stream by now, or to none.
  const gone = (): void => (over.signal.aborted ? undefined : ended())
  follow().then(gone, gone)
  return () => over.abort()
}

const inMempool = (spentBy: Output['spentBy'] | undefined): Output['spentBy'] => (spentBy?.height === null ? spentBy : null)

async function orNothing<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}
