# Copyright: kubenode.netfilter contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter play_hosts, for the playbooks beside it alone: the hosts of a play, checked before any is contacted."""

from ansible.errors import AnsibleFilterError
from ansible.utils.display import Display

from ansible_collections.kubenode.netfilter.plugins.module_utils._errors import BadInput
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._plain import plain
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._play import play, rollout
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._policy import policies
from ansible_collections.kubenode.netfilter.plugins.plugin_utils._render.text import sentence

# The tags in the playbooks, besides the names of the roles.
_TAGS = ("assess", "fix", "report", "gate")


# As for a variable that an action refuses.
_REFUSED = 2


def play_hosts(pattern, groups, name, limit=None, tags=()):
    """The host pattern that the variable `name` holds, unchanged. A pattern that matches no host is refused, because
    Ansible skips such a play and ends with status 0; `--syntax-check`, which often has no inventory, passes. So is a
    misspelt tag, with which no task would run.

    Ansible evaluates the hosts of a play in its main process, before any worker. What a filter raises is shown with its
    name and the lines of the playbook, so a run of `ansible-playbook` ends here, with one sentence.
    """
    try:
        return _checked(*map(plain, (pattern, groups, name, limit, tags)))
    except BadInput as error:
        if not play.is_run():
            raise AnsibleFilterError(sentence(error)) from None
        Display().error(sentence(error))
        raise SystemExit(_REFUSED) from None


def _checked(pattern, groups, name, limit, tags):
    if not isinstance(pattern, (str, list)):
        raise BadInput("%s must be a host pattern or a list of them, not %s" % (name, type(pattern).__name__))
    rollout.check_tags(tags, set(_TAGS).union(policies.tunable_roles()))
    if not play.is_only_parsed():
        rollout.check_hosts(name, pattern, play.matches(pattern, groups, limit), groups, limit)
    return pattern


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"play_hosts": play_hosts}
