/**
 * What bash needs beside the script of the completion package: to bash a colon ends a word, and tools have one. Where the
 * package `bash-completion` is missing, its function that reads the words is missing, too.
 */
export const BASH_COLONS = `
if ! declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref() {
        local line=\${COMP_LINE:0:COMP_POINT}
        read -ra words <<<"$line"
        [[ $line == *" " ]] && words+=("")
        cword=$((\${#words[@]} - 1))
        cur=\${words[cword]}
        prev=\${words[cword > 0 ? cword - 1 : 0]}
    }
fi

__agentcards_with_colons() {
    local cur prev words cword i
    __agentcards_complete
    _get_comp_words_by_ref -n "=:" cur prev words cword
    [[ $COMP_WORDBREAKS == *:* && $cur == *:* ]] || return 0
    local before=\${cur%"\${cur##*:}"}
    for i in "\${!COMPREPLY[@]}"; do COMPREPLY[i]=\${COMPREPLY[i]#"$before"}; done
}

complete -F __agentcards_with_colons agentcards
`;
