import type { LndNode } from '@penstock/servers/lightning-lnd.ts'
import { subscribeToForwardRequests } from 'lightning'

/** Makes a node keep whatever it should pass on, until it is told to let go: what a changed node could do with a probe. */
export function keeper({ lnd }: LndNode): (keeps: boolean) => Promise<void> {
  let keeping: ReturnType<typeof subscribeToForwardRequests> | undefined
  let kept: (() => void)[] = []
  return async (keeps) => {
    if (keeps) {
      keeping ??= subscribeToForwardRequests({ lnd })
      keeping.on('error', () => undefined)
      keeping.on('forward_request', ({ accept }: { accept: () => void }) => kept.push(accept))
      return
    }
    for (const letGo of kept) letGo()
    kept = []
    keeping?.removeAllListeners('forward_request')
    keeping = undefined
  }
}
