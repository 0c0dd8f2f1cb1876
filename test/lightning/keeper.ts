import type { LndNode } from '@penstock/servers/lightning-lnd.ts'
import { getWalletInfo, subscribeToForwardRequests, subscribeToOpenRequests } from 'lightning'

/** Makes a node keep whatever it should pass on, until it is told to let go: what a changed node could do with a probe. */
export function keeper({ lnd }: LndNode): (keeps: boolean) => Promise<void> {
  let keeping: ReturnType<typeof subscribeToForwardRequests> | undefined
  let kept: (() => void)[] = []
  return async (keeps) => {
    if (keeps) {
      keeping ??= subscribeToForwardRequests({ lnd })
      keeping.on('error', () => undefined)
      keeping.on('forward_request', ({ accept }: { accept: () => void }) => kept.push(accept))
      // It has heard of that by the time it answers this, on the same connection.
      await getWalletInfo({ lnd })
      return
    }
    for (const letGo of kept) letGo()
    kept = []
    keeping?.removeAllListeners('forward_request')
    keeping = undefined
  }
}

/** Makes a node refuse every channel that somebody wants to open to it, until it is told to take them again. */
export function refuser({ lnd }: LndNode): (refuses: boolean) => Promise<void> {
  let refusing: ReturnType<typeof subscribeToOpenRequests> | undefined
  return async (refuses) => {
    refusing?.removeAllListeners('channel_request')
    refusing = refuses ? subscribeToOpenRequests({ lnd }) : undefined
    refusing?.on('error', () => undefined)
    refusing?.on('channel_request', ({ reject }: { reject: (why: { reason: string }) => void }) =>
      reject({ reason: 'not today' }),
    )
    // As above.
    await getWalletInfo({ lnd })
  }
}
