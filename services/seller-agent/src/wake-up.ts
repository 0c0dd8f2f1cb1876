import type { Clock } from '@penstock/ports/clock.ts'

/** Ends the wait between two polls early, because something has changed. Only one caller may wait at a time. */
export type WakeUpSignal = {
  wake(): void
  /** Resolves at the next `wake`, or after `ms`; at once if `wake` was called since the last wait. */
  wait(ms: number, signal: AbortSignal): Promise<void>
}

export function createWakeUpSignal(clock: Clock): WakeUpSignal {
  let isAwake = false
  let interrupt = (): void => {}
  return {
    wake() {
      isAwake = true
      interrupt()
    },
    async wait(ms, signal) {
      const awake = new AbortController()
      interrupt = () => awake.abort('rung')
      if (!isAwake) await clock.sleep(ms, AbortSignal.any([signal, awake.signal]))
      isAwake = false
    },
  }
}

/** Wake-up signals of the jobs that poll for changes of the funds and of the sales. */
export type WakeUps = {
  readonly funds: WakeUpSignal
  readonly sales: WakeUpSignal
  /** Wakes the sale worker, because the channel of this order has changed. */
  wakeForOrder(orderId: string): void
  /** @returns the orders that were woken since the last call, each once */
  takeOrders(): readonly string[]
}

export function createWakeUps(clock: Clock): WakeUps {
  const orders = new Set<string>()
  const sales = createWakeUpSignal(clock)
  return {
    funds: createWakeUpSignal(clock),
    sales,
    wakeForOrder(orderId) {
      orders.add(orderId)
      sales.wake()
    },
    takeOrders() {
      const taken = [...orders]
      orders.clear()
      return taken
    },
  }
}
