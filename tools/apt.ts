import { existsSync } from 'node:fs'
import { runProgram } from '../test/support/processes.ts'

/** Timeout of one apt-get. On two busy cores, at the lowest priority, Chromium's packages took more than five minutes. */
const TIMEOUT_MS = 1_200_000

/** Whether this process may install Debian's packages. */
export const mayInstallPackages = (): boolean => process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')

/** Installs packages and their dependencies. @returns the last lines of apt-get if it fails, otherwise undefined */
export const installAptPackages = async (...packages: readonly string[]): Promise<string | undefined> =>
  (await runApt(['update'])) ?? runApt(['install', '--yes', '--no-install-recommends', ...packages])

/** Downloads a package's archive into a folder. @returns the last lines of apt-get if it fails, otherwise undefined */
export async function downloadAptPackage(name: string, folder: string): Promise<string | undefined> {
  if ((await runApt(['download', name], folder)) === undefined) return undefined
  // A new machine may have no package lists, or outdated lists.
  return (await runApt(['update'])) ?? runApt(['download', name], folder)
}

/** Runs apt-get, after any other apt-get on this machine has ended. */
async function runApt(args: readonly string[], cwd?: string): Promise<string | undefined> {
  const lock = ['--no-fork', '/tmp/penstock-apt.lock', 'apt-get', '-qq', '-o', 'DPkg::Lock::Timeout=600']
  const { code, signal, stdout, stderr } = await runProgram('flock', [...lock, ...args], {
    cwd,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    timeout: TIMEOUT_MS,
  })
  if (code === 0) return undefined
  const end = signal === null ? `apt-get ended with ${code}` : `apt-get was ended after ${TIMEOUT_MS / 60_000} minutes`
  return takeLastLines(`${stdout}\n${stderr}\n${end}`)
}

const takeLastLines = (text: string): string =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-3)
    .join('\n')
