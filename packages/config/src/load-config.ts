import { type Config, readConfig, findUnknownSettings } from './config.ts'

/**
 * Reads the settings. Prints the names of unknown settings on standard error, and a setting that weakens a check.
 * @throws ConfigError for an invalid value
 */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const config = readConfig(env)
  const unknown = findUnknownSettings(env)
  if (unknown.length > 0)
    console.error(`Unknown settings: ${unknown.join(', ')}. The settings of this version are in docs/configuration.md.`)
  if (config.webhookAllowLoopback)
    console.error(
      'PENSTOCK_WEBHOOK_ALLOW_LOOPBACK is 1, so webhooks may call programs on this machine. Set it for development only.',
    )
  return config
}
