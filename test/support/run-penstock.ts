import { join } from 'node:path'
import { runProgram } from './processes.ts'
import { getChildEnvironment } from './product.ts'

const ROOT = join(import.meta.dirname, '../..')

export type CliResult<T> = { readonly code: number | null; readonly stderr: string; readonly answer: T }

/** Runs the `penstock` command with `--json`. `answer` is undefined if the command printed no JSON. */
export async function runPenstock<T>(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  checkout = ROOT,
): Promise<CliResult<T>> {
  const program = [join(checkout, 'packages/cli/src/main.ts'), ...args, '--json']
  const { code, stdout, stderr } = await runProgram(process.execPath, program, { env: { ...getChildEnvironment(), ...env } })
  return { code, stderr, answer: (stdout === '' ? undefined : JSON.parse(stdout)) as T } // The caller gives the type.
}
