import { Fault } from '@penstock/kernel/result.ts'
import { type Chain, type ChainTip, MempoolUnavailable, type ChainOutput } from '@penstock/ports/chain.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import { streamChanges } from '../shared/change-stream.ts'
import { createSingleFlight, createSingleFlights } from '../shared/single-flight.ts'

/** Timeout of the tip of a chain, after which the chain counts as unreachable. */
const TIP_TIMEOUT_MS = 4000
/** Timeout of an output lookup at the source, after which the node answers. A source may answer one call and hang at another. */
const OUTPUT_TIMEOUT_MS = 6000
/** Maximum wait in ms for a source that is briefly behind. Without the wait, the node would read the same blocks again. */
const CATCH_UP_MS = 2000
const RECHECK_MS = 200
const POLL_MS = 1000

/**
 * Reads the chain from a source with a mempool, or from the Lightning node while the source is behind it or unreachable. The
 * Lightning node counts expiry heights by its own chain, so no decision may use an older block.
 */
export function createChainFailover(bitcoinNode: Chain, node: Chain, clock: Clock): Chain {
  // Every output lookup reads both tips, and each block starts the lookups of all holds and channel watches at once.
  const readTip = (chain: Chain): Promise<ChainTip> => withTimeout(clock, TIP_TIMEOUT_MS, chain.tip())
  const readSourceTip = createSingleFlight(() => readTip(bitcoinNode))
  // The last height that the node reported. The height still counts after the node stops answering, because callers have seen it.
  let nodeHeight = -1
  const readNodeTip = createSingleFlight(async () => {
    const tip = await readTip(node)
    nodeHeight = tip.height
    return tip
  })
  let wasBehind = false

  /** @returns whether the source has every block that the node reported; true if the node never reported a height */
  async function isSourceCurrent(): Promise<boolean> {
    const deadline = clock.monotonicMs() + (wasBehind ? 0 : CATCH_UP_MS)
    for (;;) {
      const [sourceTip] = await Promise.all([undefinedOnFault(readSourceTip()), undefinedOnFault(readNodeTip())])
      wasBehind = (sourceTip?.height ?? -1) < nodeHeight
      if (!wasBehind) return true
      if (!sourceTip || clock.monotonicMs() >= deadline) return false
      await clock.sleep(RECHECK_MS)
    }
  }

  async function tip(): Promise<ChainTip> {
    const [sourceTip, nodeTip] = await Promise.allSettled([readSourceTip(), readNodeTip()])
    if (sourceTip.status === 'rejected' && nodeTip.status === 'rejected') throw sourceTip.reason
    if (sourceTip.status === 'rejected') return (nodeTip as PromiseFulfilledResult<ChainTip>).value // not rejected
    if (nodeTip.status === 'fulfilled') return nodeTip.value.height > sourceTip.value.height ? nodeTip.value : sourceTip.value
    if (sourceTip.value.height >= nodeHeight) return sourceTip.value
    throw new Fault(`the bitcoin node is at ${sourceTip.value.height}, but lnd was at ${nodeHeight} before it stopped answering`)
  }

  async function output(outpoint: string, fromHeight: number): Promise<ChainOutput | undefined> {
    const isCurrent = await isSourceCurrent()
    const found = bitcoinNode.output(outpoint, fromHeight).then((it) => ({ it }))
    const answer = undefinedOnFault(withTimeout(clock, OUTPUT_TIMEOUT_MS, found))
    const result = isCurrent ? await answer : undefined
    return result ? result.it : findByNode(node, outpoint, fromHeight, answer)
  }
  // The channel watch and the settlement of one order look up the same output after each block.
  const outputs = createSingleFlights((key) => {
    const [fromHeight = '', outpoint = ''] = key.split(' ')
    return output(outpoint, Number(fromHeight))
  })

  return {
    sees: bitcoinNode.sees,
    tip,
    output: (outpoint, fromHeight) => outputs(`${fromHeight} ${outpoint}`),
    // lnd reports no mempool, so only the source can answer.
    enteredMempoolAt: (outpoint) => withTimeout(clock, OUTPUT_TIMEOUT_MS, bitcoinNode.enteredMempoolAt(outpoint)),
    // The node pushes new tips, so its stream starts a read before the next poll.
    tips: (signal) =>
      streamChanges({
        read: tip,
        listen: (onChange, onEnd) => subscribeTips(node, onChange, onEnd),
        pollMs: POLL_MS,
        clock,
        signal,
      }),
    feeRate: (targetBlocks) => bitcoinNode.feeRate(targetBlocks),
  }
}

/** @param answer the result of the source; undefined if the source does not answer in time */
async function findByNode(
  node: Chain,
  outpoint: string,
  fromHeight: number,
  answer: Promise<SourceResult | undefined>,
): Promise<ChainOutput | undefined> {
  const [inBlocks, result] = await Promise.all([node.output(outpoint, fromHeight), answer])
  // The blocks of the node contain every confirmed spend, so the source adds only an unconfirmed spend.
  if (inBlocks) {
    const spentBy = inBlocks.spentBy ?? onlyInMempool(result?.it?.spentBy)
    // A source that confirms a spend in a block that the node lacks has no such mempool spend to report.
    const isSpendUnknown = spentBy === null && (!result?.it || result.it.isSpendUnknown === true || result.it.spentBy !== null)
    return { ...inBlocks, spentBy, ...(isSpendUnknown && { isSpendUnknown }) }
  }
  // The node did not search below `fromHeight`, so the source's answer counts there.
  const { height } = result?.it ?? {}
  if (result?.it && (height === null || (height ?? fromHeight) < fromHeight)) return result.it
  throw new MempoolUnavailable(
    `no block has ${outpoint}, and its mempool state is unknown: the bitcoin node is behind lnd or unreachable`,
  )
}

type SourceResult = { readonly it: ChainOutput | undefined }

function subscribeTips(node: Chain, onChange: () => void, onEnd: () => void): () => void {
  const stopped = new AbortController()
  const follow = async (): Promise<void> => {
    const tips = node.tips(stopped.signal)[Symbol.asyncIterator]()
    while ((await tips.next()).done !== true) onChange()
  }
  // A caller that has unsubscribed must not be notified of the end, because it may listen to another stream by now.
  const endUnlessStopped = (): void => (stopped.signal.aborted ? undefined : onEnd())
  follow().then(endUnlessStopped, endUnlessStopped)
  return () => stopped.abort()
}

const onlyInMempool = (spentBy: ChainOutput['spentBy'] | undefined): ChainOutput['spentBy'] =>
  spentBy?.height === null ? spentBy : null

async function undefinedOnFault<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}
