import type { Clock } from '@penstock/ports/clock.ts'

/** Cuts a rest short: something has happened that would else be found at the next look. One rests at a time. */
export type Bell = {
  ring(): void
  /** Until the bell rings, or after so long; at once where it has rung since the last rest. */
  rest(ms: number, signal: AbortSignal): Promise<void>
}

export function bellOf(clock: Clock): Bell {
  let isRung = false
  let wake = (): void => {}
  return {
    ring() {
      isRung = true
      wake()
    },
    async rest(ms, signal) {
      const rung = new AbortController()
      wake = () => rung.abort('rung')
      if (!isRung) await clock.sleep(ms, AbortSignal.any([signal, rung.signal]))
      isRung = false
    },
  }
}

/** What the node told of its channels, for those who would else find it at their next look. */
export type News = {
  readonly funds: Bell
  readonly sales: Bell
  /** The channel of this order stands in another way. */
  order(orderId: string): void
  /** @returns those orders, each once */
  takeOrders(): readonly string[]
}

export function newsOf(clock: Clock): News {
  const orders = new Set<string>()
  const sales = bellOf(clock)
  return {
    funds: bellOf(clock),
    sales,
    order(orderId) {
      orders.add(orderId)
      sales.ring()
    },
    takeOrders() {
      const taken = [...orders]
      orders.clear()
      return taken
    },
  }
}
