/** Formats the trace of a violation in TLC's output: for each step, its action and the variables that it changes. */
export function formatTlcTrace(output: string): readonly string[] {
  const steps = output.split(/\nState (?=\d+: )/).slice(1)
  let previous: ReadonlyMap<string, string> = new Map()
  const lines = steps.map((text) => {
    const state = new Map(
      [...text.matchAll(/^\/\\ (\w+) = ((?:.|\n(?!\/\\|\n|State ))*)/gm)].map(([, name = '', value = '']) => [
        name,
        collapseSpaces(value),
      ]),
    )
    const [, stepNumber = '?', action = ''] = /^(\d+): ?<?(\w*)/.exec(text) ?? []
    const changes = [...state]
      .filter(([name, value]) => previous.get(name) !== value)
      .map(([name, value]) => `${name} = ${value}`)
    const isFirst = previous.size === 0
    previous = state
    return `${stepNumber.padStart(3)} ${isFirst ? 'Init' : `${action} ${changes.join(', ')}`}`
  })
  return [...lines, ...(/Stuttering|Back to state.*/.exec(output) ?? [])]
}

const collapseSpaces = (value: string): string => value.replaceAll(/\s+/g, ' ').trim()
