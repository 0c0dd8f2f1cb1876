/**
 * Shares calls between concurrent callers. A caller that arrives during a running call waits for the next call, which all such
 * callers share. No caller gets a result that is older than its request.
 */
export function createSingleFlight<T>(call: () => Promise<T>): () => Promise<T> {
  let current: Promise<T> | undefined
  let next: Promise<T> | undefined

  function begin(): Promise<T> {
    const started = call()
    const finish = (): void => {
      if (current === started) current = undefined
    }
    current = started
    started.then(finish, finish)
    return started
  }

  return () => {
    if (!current) return begin()
    next ??= current.then(ignore, ignore).then(() => {
      next = undefined
      return begin()
    })
    return next
  }
}

/** Single flights by name. Each exists while a caller waits for it. */
export function createSingleFlights<T>(call: (name: string) => Promise<T>): (name: string) => Promise<T> {
  const flights = new Map<string, { readonly answer: () => Promise<T>; waiting: number }>()
  return async (name) => {
    const flight = flights.get(name) ?? { answer: createSingleFlight(() => call(name)), waiting: 0 }
    flights.set(name, flight)
    flight.waiting += 1
    try {
      return await flight.answer()
    } finally {
      flight.waiting -= 1
      if (flight.waiting === 0) flights.delete(name)
    }
  }
}

const ignore = (): void => undefined
