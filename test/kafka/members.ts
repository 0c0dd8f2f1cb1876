import type { ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { KafkaBusOptions } from '@penstock/adapters/kafka/bus.ts'
import { startProgram } from '../support/processes.ts'

export type TestGroupMember = {
  readonly handledIds: readonly string[]
  readonly child: ChildProcess
  end(signal: NodeJS.Signals): Promise<number | null>
}

/** Starts a member of the group `readers` in a separate process. */
export function startGroupMember(options: KafkaBusOptions, file: string, topic: string, workMs = 0): TestGroupMember {
  const script = fileURLToPath(new URL('./member.child.ts', import.meta.url))
  const order = JSON.stringify({ options, file, topic, workMs })
  const { child, output, ended } = startProgram(process.execPath, [script, order], { stdio: ['ignore', 'pipe', 'inherit'] })
  return {
    // The last line may be incomplete.
    get handledIds() {
      return output().split('\n').slice(0, -1)
    },
    child,
    async end(signal) {
      child.kill(signal)
      return (await ended).code
    },
  }
}
