/**
 * Many ask the same at the same time. Who asks while an answer is on its way waits for the next one, which all of them
 * share: nobody is given what was seen before he asked.
 */
export function sharedAnswer<T>(ask: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined
  let next: Promise<T> | undefined

  function begin(): Promise<T> {
    const asked = ask()
    const over = (): void => {
      if (underWay === asked) underWay = undefined
    }
    underWay = asked
    asked.then(over, over)
    return asked
  }

  return () => {
    if (!underWay) return begin()
    next ??= underWay.then(nothing, nothing).then(() => {
      next = undefined
      return begin()
    })
    return next
  }
}

/** The same by name, each kept for as long as somebody waits for it. */
export function sharedAnswers<T>(ask: (name: string) => Promise<T>): (name: string) => Promise<T> {
  const shared = new Map<string, { readonly answer: () => Promise<T>; waiting: number }>()
  return async (name) => {
    const one = shared.get(name) ?? { answer: sharedAnswer(() => ask(name)), waiting: 0 }
    shared.set(name, one)
    one.waiting += 1
    try {
      return await one.answer()
    } finally {
      one.waiting -= 1
      if (one.waiting === 0) shared.delete(name)
    }
  }
}

const nothing = (): void => undefined
