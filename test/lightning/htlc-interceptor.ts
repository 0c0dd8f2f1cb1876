import type { LndNode } from '@penstock/servers/lightning-lnd.ts'
import { getWalletInfo, subscribeToForwardRequests, subscribeToOpenRequests } from 'lightning'

/** Makes a node hold HTLCs instead of forwarding them, as a modified node could hold a probe. `false` releases them. */
export function createHtlcInterceptor({ lnd }: LndNode): (isHolding: boolean) => Promise<void> {
  let subscription: ReturnType<typeof subscribeToForwardRequests> | undefined
  let heldHtlcs: (() => void)[] = []
  return async (isHolding) => {
    if (isHolding) {
      subscription ??= subscribeToForwardRequests({ lnd })
      subscription.on('error', () => undefined)
      subscription.on('forward_request', ({ accept }: { accept: () => void }) => heldHtlcs.push(accept))
      // The answer shows that lnd has received the subscription, because both requests use one connection in order.
      await getWalletInfo({ lnd })
      return
    }
    for (const accept of heldHtlcs) accept()
    heldHtlcs = []
    subscription?.removeAllListeners('forward_request')
    subscription = undefined
  }
}

/** Makes a node reject every channel that a peer opens to it. `false` ends this. */
export function createChannelRejecter({ lnd }: LndNode): (isRejecting: boolean) => Promise<void> {
  let subscription: ReturnType<typeof subscribeToOpenRequests> | undefined
  return async (isRejecting) => {
    subscription?.removeAllListeners('channel_request')
    subscription = isRejecting ? subscribeToOpenRequests({ lnd }) : undefined
    subscription?.on('error', () => undefined)
    subscription?.on('channel_request', ({ reject }: { reject: (reason: { reason: string }) => void }) =>
      reject({ reason: 'not today' }),
    )
    // Waits until lnd has received the subscription, as above.
    await getWalletInfo({ lnd })
  }
}
