import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { KafkaBusOptions } from '@penstock/adapters/kafka/bus.ts'

export type Member = {
  readonly handled: readonly string[]
  readonly child: ChildProcess
  end(signal: NodeJS.Signals): Promise<number | null>
}

/** A member of group `readers` in a process of its own. */
export function startMember(options: KafkaBusOptions, file: string, topic: string, workMs = 0): Member {
  const script = fileURLToPath(new URL('./member.child.ts', import.meta.url))
  const order = JSON.stringify({ options, file, topic, workMs })
  const child = spawn(process.execPath, [script, order], { stdio: ['ignore', 'pipe', 'inherit'] })
  const handled: string[] = []
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    handled.push(...lines)
  })
  return {
    handled,
    child,
    async end(signal) {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
      const exit = once(child, 'close')
      child.kill(signal)
      await exit
      return child.exitCode
    },
  }
}
