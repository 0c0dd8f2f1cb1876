/** The trace of a violation as TLC prints it: the action of each step, and only what the step changes. */
export function traceOf(output: string): readonly string[] {
  const steps = output.split(/\nState (?=\d+: )/).slice(1)
  let before: ReadonlyMap<string, string> = new Map()
  const lines = steps.map((text) => {
    const state = new Map(
      [...text.matchAll(/^\/\\ (\w+) = ((?:.|\n(?!\/\\|\n|State ))*)/gm)].map(([, name = '', value = '']) => [name, flat(value)]),
    )
    const [, number = '?', action = ''] = /^(\d+): ?<?(\w*)/.exec(text) ?? []
    const changes = [...state].filter(([name, value]) => before.get(name) !== value).map(([name, value]) => `${name} = ${value}`)
    const isFirst = before.size === 0
    before = state
    return `${number.padStart(3)} ${isFirst ? 'Init' : `${action} ${changes.join(', ')}`}`
  })
  return [...lines, ...(/Stuttering|Back to state.*/.exec(output) ?? [])]
}

const flat = (value: string): string => value.replaceAll(/\s+/g, ' ').trim()
