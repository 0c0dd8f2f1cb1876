import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Outcome } from './run-plan.ts'
import type { Task } from './worker.ts'

const file = fileURLToPath(new URL('worker.ts', import.meta.url))
/** Dead processes of a run leave promises behind that wait for ever: a worker is renewed before that is much. */
const TASKS_A_WORKER = 40

/** Runs tasks in so many processes beside each other, and hands out what became of them as it comes. */
export type Pool = {
  run(task: Task): Promise<Outcome>
  close(): void
}

export function openPool(size: number): Pool {
  const idle: Worker[] = []
  const waiting: ((worker: Worker) => void)[] = []
  const all = new Set<Worker>()
  const add = (): Worker => {
    const worker = {
      child: fork(file, {
        execArgv: ['--no-warnings'],
        serialization: 'advanced',
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      }),
      tasks: 0,
    }
    all.add(worker)
    return worker
  }
  const give = (worker: Worker): void => {
    const next = waiting.shift()
    if (next) next(worker)
    else idle.push(worker)
  }
  for (let index = 0; index < size; index++) idle.push(add())
  return {
    async run(task) {
      const worker = idle.shift() ?? (await new Promise<Worker>((resolve) => waiting.push(resolve)))
      let fresh: Worker | undefined = worker
      try {
        return await ask(worker.child, task)
      } catch (error) {
        fresh = undefined
        throw error
      } finally {
        if (!fresh || ++worker.tasks >= TASKS_A_WORKER) {
          all.delete(worker)
          worker.child.kill()
          fresh = add()
        }
        give(fresh)
      }
    },
    close() {
      for (const { child } of all) child.kill()
    },
  }
}

type Worker = { readonly child: ChildProcess; tasks: number }

function ask(child: ChildProcess, task: Task): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null, signal: string | null): void =>
      reject(new Error(`a worker ended with ${code ?? signal} at seed ${task.plan.seed}`))
    child.once('exit', ended)
    child.once('message', (outcome) => {
      child.off('exit', ended)
      resolve(outcome as Outcome) // what worker.ts sends
    })
    child.send(task)
  })
}
