// Validates objects of KEDA and the Prometheus operator, JSON on standard input, by the npm packages of their schemas.
import { readFileSync } from 'node:fs';
import { ScaledObject } from '@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject';
import { TriggerAuthentication } from '@kubernetes-models/keda/keda.sh/v1alpha1/TriggerAuthentication';
import { PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule';
import { ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor';

const kinds = { ScaledObject, TriggerAuthentication, PrometheusRule, ServiceMonitor };
const objects = JSON.parse(readFileSync(0, 'utf8'));
for (const object of objects) new kinds[object.kind](object).validate();
console.log(`${objects.length} objects of other groups are valid`);
